#include "core/whose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace overdue {
namespace {

event_header header_of(std::uint32_t pid, std::uint32_t tid, std::string_view comm) {
  event_header header{};
  header.pid = pid;
  header.tid = tid;
  header.cgroup_id = 77;
  std::ranges::copy(comm, header.comm);
  return header;
}

process_origin origin_of(std::string_view process, std::uint32_t parent_pid,
                         std::string_view parent) {
  process_origin origin{};
  origin.is_known = 1;
  origin.parent_pid = parent_pid;
  std::ranges::copy(process, origin.process);
  std::ranges::copy(parent, origin.parent);
  return origin;
}

/// A thread of a shell that cron has started.
Owner shell(std::uint32_t pid) {
  return owner_of(header_of(pid, pid + 1, "reader-2"), origin_of("sh", 4126, "cron"));
}

std::string text(Whose by, std::uint64_t count) {
  return owner_text(key_of(shell(12), by), by, count);
}

TEST(Whose, HasTheWordsOfItsNumbers) {
  for (const std::string_view word : whose_words) {
    ASSERT_TRUE(whose_named(word)) << word;
    EXPECT_EQ(to_word(*whose_named(word)), word);
  }
  EXPECT_FALSE(whose_named("syscall"));
  EXPECT_EQ(static_cast<int>(Whose::pattern), 3);  // recordings have the numbers
  EXPECT_EQ(static_cast<int>(Whose::parent), 6);
}

TEST(Whose, AnUnknownWordIsRefusedWithTheNearest) {
  try {
    check_whose("parnt", whose_words);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean 'parent'?");
    EXPECT_EQ(error.exit_status(), 2);
  }
}

TEST(Whose, ProcessesOfOneParentShareAKey) {
  EXPECT_EQ(key_of(shell(12), Whose::parent), key_of(shell(20), Whose::parent));
  EXPECT_EQ(key_of(shell(12), Whose::cgroup), key_of(shell(20), Whose::cgroup));
  EXPECT_NE(key_of(shell(12), Whose::process), key_of(shell(20), Whose::process));
  EXPECT_NE(key_of(shell(12), Whose::group), key_of(shell(20), Whose::group));
  Owner other = shell(12);
  other.parent_pid = 5;
  EXPECT_NE(key_of(shell(12), Whose::parent), key_of(other, Whose::parent));
}

TEST(Whose, ALabelSaysHowManyAndWhoStartedThem) {
  EXPECT_EQ(text(Whose::parent, 1522), "sh ×1,522 from cron[4126]");
  EXPECT_EQ(text(Whose::parent, 1), "sh from cron[4126]");
  EXPECT_EQ(text(Whose::name, 3), "reader-2 ×3");
  EXPECT_EQ(text(Whose::pattern, 3), "reader-* ×3");
  EXPECT_EQ(owner_text(shell(12), Whose::thread, 1), "reader-2[13]");
  Owner process = shell(12);
  process.tid = 0;
  EXPECT_EQ(owner_text(process, Whose::process, 1), "reader-2[12]");
}

TEST(Whose, AnUnknownParentIsSaid) {
  const Owner old = owner_of(header_of(7, 7, "sh"), {});
  EXPECT_EQ(owner_text(key_of(old, Whose::parent), Whose::parent, 2), "sh ×2 from (unknown)");
  const Owner first = owner_of(header_of(1, 1, "init"), origin_of("init", 0, "swapper/0"));
  EXPECT_EQ(owner_text(key_of(first, Whose::parent), Whose::parent, 1), "init");
}

TEST(Whose, ACgroupHasItsPath) {
  Names names;
  names.cgroups[77] = "/system.slice/cron.service";
  Owner key = key_of(shell(12), Whose::cgroup);
  resolve_cgroup(key, names);
  EXPECT_EQ(owner_text(key, Whose::cgroup, 9), "/system.slice/cron.service");
  EXPECT_EQ(cgroup_text(78, names), "cgroup 78 (gone)");
  EXPECT_EQ(cgroup_text(0, names), "(unknown)");
}

TEST(Whose, ThreadsOfTheKernelAreOneOwner) {
  for (const Whose by : {Whose::cgroup, Whose::parent}) {
    Owner key = key_of(kernel_owner(), by);
    EXPECT_NE(key, key_of(other_owner(), by));
    if (by == Whose::cgroup) resolve_cgroup(key, {});
    EXPECT_EQ(owner_text(key, by, 1), "(kernel)");
  }
}

TEST(Whose, NamesAreMadePrintable) {
  const Owner owner = owner_of(header_of(7, 7, "sh"), origin_of("a\nb", 3, "c\x1b[m"));
  const std::string shown = owner_text(key_of(owner, Whose::parent), Whose::parent, 1);
  EXPECT_EQ(shown.find_first_of("\n\x1b"), std::string::npos) << shown;
}

TEST(ProcessCounts, CountAPidThatIsUsedAgainTwice) {
  ProcessCounts counts;
  const Owner key = key_of(shell(12), Whose::parent);
  counts.add(key, 12, 100);
  counts.add(key, 12, 100);
  counts.add(key, 12, 200);
  EXPECT_EQ(counts.count(key), 2u);
  EXPECT_EQ(counts.count(Owner{}), 0u);
  EXPECT_EQ(left_out_text(counts), "");
}

TEST(ProcessCounts, OfTwoPlacesCountAProcessOnce) {
  ProcessCounts one, other;
  const Owner key = key_of(shell(12), Whose::parent);
  one.add(key, 12, 100);
  other.add(key, 12, 100);
  other.add(key, 13, 100);
  one.merge(other);
  EXPECT_EQ(one.count(key), 2u);
}

TEST(ProcessCounts, SayHowManyFindNoRoom) {
  ProcessCounts counts(2);
  const Owner key = key_of(shell(12), Whose::parent);
  for (const std::uint32_t pid : {1u, 2u, 3u, 4u, 1u}) counts.add(key, pid, 100);
  counts.add(Owner{}, 1, 100);
  EXPECT_EQ(counts.count(key), 2u);
  EXPECT_EQ(counts.left_out(), 3u);
  EXPECT_TRUE(left_out_text(counts).ends_with(": 3")) << left_out_text(counts);
}

}  // namespace
}  // namespace overdue
