#include "report/why/open_waits.h"

#include <gtest/gtest.h>

namespace overdue::open_waits_test {
namespace {

Finding open_call(std::string name, const char* function) {
  Finding finding;
  finding.type = "hang";
  finding.name = std::move(name);
  finding.thread = {7, 8, "waiter"};
  finding.user_stack = {{.name = function, .module = "/lib/libc.so.6"}, {.name = "work"}};
  return finding;
}

TEST(OpenWaits, KnowTheLocksWhoseOwnerTheCLibraryNotes) {
  EXPECT_EQ(open_wait_of(open_call("futex", "__GI___pthread_mutex_lock")).lock, LibraryLock::mutex);
  EXPECT_EQ(open_wait_of(open_call("futex", "pthread_rwlock_wrlock")).lock, LibraryLock::rwlock);
  EXPECT_EQ(open_wait_of(open_call("futex", "sem_wait")).lock, LibraryLock::none);
  EXPECT_EQ(open_wait_of(open_call("read", "pthread_mutex_lock")).lock, LibraryLock::none);
  EXPECT_EQ(open_wait_of(open_call("futex", "sem_wait")).tid, 8u);
  EXPECT_EQ(open_wait_of(open_call("epoll_wait", "ProcSleep")).lock, LibraryLock::postgres);
}

TEST(OtherSides, SurviveARecording) {
  SessionInfo info;
  keep_other_sides({{.tid = 7, .words = "held by a\nb[9]", .by = "a\nb[9]"}}, info);
  const auto sides = kept_other_sides(info);
  ASSERT_EQ(sides.size(), 1u);
  EXPECT_EQ(sides[0].tid, 7u);
  EXPECT_TRUE(sides[0].words.starts_with("held by a")) << sides[0].words;
  EXPECT_EQ(sides[0].by.find('\n'), std::string::npos);
}

TEST(OtherSides, OfADamagedRecordingAreFew) {
  SessionInfo info;
  EXPECT_TRUE(kept_other_sides(info).empty());
  info.options["other_sides"] = "99999999999";
  info.options["other_side_0_words"] = std::string(100'000, 'x');
  for (const OtherSide& side : kept_other_sides(info)) EXPECT_LE(side.words.size(), 1000u);
}

}  // namespace
}  // namespace overdue::open_waits_test
