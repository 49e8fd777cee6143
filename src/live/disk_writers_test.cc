#include "live/disk_writers.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

class DiskWritersTest : public testing::Test {
 protected:
  void process(std::uint32_t pid, std::string_view comm, std::uint64_t megabytes,
               std::uint64_t cancelled = 0) {
    const std::filesystem::path folder = fmt::format("proc/{}", pid);
    tree_.file(folder / "comm", fmt::format("{}\n", comm));
    tree_.file(
        folder / "io",
        fmt::format("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: {}\n"
                    "cancelled_write_bytes: {}\n",
                    megabytes << 20, cancelled << 20));
  }
  DiskWriters writers() const { return DiskWriters(tree_ / "proc"); }

  FakeTree tree_;
};

TEST_F(DiskWritersTest, AreNamedWithWhatTheyWroteSinceTheBegin) {
  process(7, "hog", 1000);
  process(8, "db", 5000);
  const DiskWriters writers = this->writers();
  EXPECT_TRUE(writers.since_begin().empty());
  process(7, "hog", 1100);
  process(8, "db", 5010);
  process(9, "tar", 60, 20);
  const auto found = writers.since_begin();
  ASSERT_EQ(found.size(), 2u) << "db wrote less than a fifth";
  EXPECT_EQ(found[0].words, "hog[7] (100.0 MB)");
  EXPECT_EQ(found[0].id, 7u);
  EXPECT_EQ(found[1].words, "tar[9] (40.0 MB)");
}

TEST_F(DiskWritersTest, AreNotTheParentsOfThoseThatWroteBefore) {
  process(7, "make", 10);
  process(8, "dd", 500);
  const DiskWriters writers = this->writers();
  std::filesystem::remove_all(tree_ / "proc/8");
  process(7, "make", 510);
  EXPECT_TRUE(writers.since_begin().empty());
  process(7, "make", 530);
  ASSERT_EQ(writers.since_begin().size(), 1u);
  EXPECT_EQ(writers.since_begin()[0].words, "make[7] (20.0 MB)");
}

}  // namespace
}  // namespace overdue
