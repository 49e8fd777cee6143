#include "report/why/file_locks.h"

#include <gtest/gtest.h>

namespace overdue::file_locks_test {
namespace {

TEST(FileLocks, SurviveARecording) {
  SessionInfo info;
  keep_file_locks({{.wanted_by = 7, .holder = {9, 9, "back\nup"}, .path = "/srv/job.lock"}}, info);
  const auto locks = kept_file_locks(info);
  ASSERT_EQ(locks.size(), 1u);
  EXPECT_EQ(locks[0].wanted_by, 7u);
  EXPECT_EQ(locks[0].holder.pid, 9u);
  EXPECT_EQ(locks[0].holder.comm.find('\n'), std::string::npos);
  EXPECT_EQ(locks[0].path, "/srv/job.lock");
}

TEST(FileLocks, OfADamagedRecordingAreFew) {
  SessionInfo info;
  EXPECT_TRUE(kept_file_locks(info).empty());
  info.options["file_locks"] = "99999999999";
  info.options["file_lock_0_path"] = std::string(100'000, 'x');
  for (const FileLock& lock : kept_file_locks(info)) EXPECT_LE(lock.path.size(), 4096u);
}

}  // namespace
}  // namespace overdue::file_locks_test
