#include "live/memory_limits.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

/// A machine with a hierarchy of version 2 or one of version 1 for memory. Process 7 is in /web/a.
class MemoryLimitsTest : public testing::TestWithParam<bool> {
 protected:
  MemoryLimitsTest() {
    tree_.file("proc/self/mountinfo",
               fmt::format("33 31 0:30 / {}/cg rw - {}\n", tree_.root().native(),
                           v2() ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,memory"));
    tree_.file("proc/self/cgroup", line("/"));
    tree_.file("proc/7/cgroup", line("/web/a"));
    tree_.file("cg/cgroup.controllers", "cpu memory\n");
    cgroup("web", 128, 3);
    cgroup("web/a", 64, 5);
  }

  static bool v2() { return GetParam(); }
  static std::string line(std::string_view path) {
    return fmt::format("{}:{}\n", v2() ? "0:" : "4:memory", path);
  }

  /// The files of a cgroup with this limit in MB, 0: unlimited, which it has reached so often.
  void cgroup(std::string_view path, std::uint64_t megabytes, std::uint64_t reached) {
    const std::string folder = fmt::format("cg/{}/memory.", path);
    const std::uint64_t bytes = megabytes == 0 ? 9223372036854771712u : megabytes << 20;
    const std::string limit = v2() && megabytes == 0 ? "max" : std::to_string(bytes);
    tree_.file(folder + (v2() ? "max" : "limit_in_bytes"), limit + "\n");
    tree_.file(folder + (v2() ? "current" : "usage_in_bytes"), "66060288\n");
    if (v2())
      tree_.file(folder + "events.local", fmt::format("low 0\nhigh 0\nmax {}\noom 0\n", reached));
    else
      tree_.file(folder + "failcnt", fmt::format("{}\n", reached));
  }
  MemoryLimits limits() const { return MemoryLimits(tree_ / "proc"); }
  static std::string words(std::string_view path, std::string_view most) {
    return fmt::format("reclaims memory of cgroup {}: 63.0 MB of {} used ({})", path, most,
                       v2() ? "memory.max" : "memory.limit_in_bytes");
  }

  FakeTree tree_;
};

TEST_P(MemoryLimitsTest, NameTheCgroupWhoseCounterRose) {
  const MemoryLimits limits = this->limits();
  cgroup("web/a", 64, 6);
  const auto found = limits.reached_by({7});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, 7u);
  EXPECT_EQ(found[0].words, words("/web/a", "64.0 MB"));
}

TEST_P(MemoryLimitsTest, NameACgroupAboveIfItsOwnCounterRose) {
  const MemoryLimits limits = this->limits();
  cgroup("web", 128, 4);
  const auto found = limits.reached_by({7});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].words, words("/web", "128.0 MB"));
}

TEST_P(MemoryLimitsTest, AreSilentIfNoCounterRose) {
  EXPECT_TRUE(limits().reached_by({7}).empty());
  EXPECT_TRUE(limits().reached_by({}).empty());
  EXPECT_TRUE(limits().reached_by({8}).empty());
}

TEST_P(MemoryLimitsTest, CountFromZeroInANewCgroup) {
  const MemoryLimits limits = this->limits();
  tree_.file("proc/9/cgroup", line("/new"));
  cgroup("new", 64, 0);
  EXPECT_TRUE(limits.reached_by({9}).empty());
  cgroup("new", 64, 1);
  EXPECT_EQ(limits.reached_by({9}).size(), 1u);
}

TEST_P(MemoryLimitsTest, NameNoCgroupWithoutALimit) {
  const MemoryLimits limits = this->limits();
  cgroup("web/a", 0, 6);
  EXPECT_TRUE(limits.reached_by({7}).empty());
}

TEST_P(MemoryLimitsTest, AreEqualForAllProcessesOfACgroup) {
  tree_.file("proc/8/cgroup", line("/web/a"));
  const MemoryLimits limits = this->limits();
  cgroup("web/a", 64, 6);
  const auto found = limits.reached_by({7, 8});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].words, found[1].words);
}

INSTANTIATE_TEST_SUITE_P(Versions, MemoryLimitsTest, testing::Bool(),
                         [](const auto& version) { return version.param ? "v2" : "v1"; });

TEST(MemoryLimits, NameTheHighLimit) {
  FakeTree tree;
  tree.file("proc/self/mountinfo",
            fmt::format("33 31 0:30 / {}/cg rw - cgroup2 cgroup2 rw\n", tree.root().native()));
  tree.file("proc/self/cgroup", "0::/\n");
  tree.file("proc/7/cgroup", "0::/a\n");
  tree.file("cg/cgroup.controllers", "memory\n");
  tree.file("cg/a/memory.max", "max\n");
  tree.file("cg/a/memory.high", "1048576\n");
  tree.file("cg/a/memory.current", "1048576\n");
  tree.file("cg/a/memory.events.local", "low 0\nhigh 1\nmax 0\n");
  const MemoryLimits limits(tree / "proc");
  tree.file("cg/a/memory.events.local", "low 0\nhigh 2\nmax 0\n");
  const auto found = limits.reached_by({7});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].words, "reclaims memory of cgroup /a: 1.0 MB of 1.0 MB used (memory.high)");
}

}  // namespace
}  // namespace overdue
