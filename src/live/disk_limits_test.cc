#include "live/disk_limits.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

/// Process 7 is in /web/a of version 2, and in /batch of version 1.
class DiskLimits : public testing::Test {
 protected:
  DiskLimits() {
    tree_.file("proc/self/mountinfo",
               fmt::format("33 31 0:30 / {0}/cg rw - cgroup2 cgroup2 rw\n"
                           "34 31 0:31 / {0}/blkio rw - cgroup cgroup rw,blkio\n",
                           tree_.root().native()));
    tree_.file("proc/self/cgroup", "4:blkio:/\n0::/\n");
    tree_.file("proc/7/cgroup", "4:blkio:/batch\n0::/web/a\n");
    tree_.directory("cg/web/a");
    tree_.directory("blkio/batch");
    tree_.directory("sys/dev/block");
    std::filesystem::create_symlink("../../devices/pci0/block/vda", tree_ / "sys/dev/block/254:0");
  }
  std::vector<Remark> found() const { return disk_limits({7}, tree_.root()); }

  FakeTree tree_;
};

TEST_F(DiskLimits, OfTheNearestCgroupAreNamed) {
  tree_.file("cg/web/io.max", "254:0 rbps=max wbps=2097152 riops=max wiops=120\n");
  auto all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, 7u);
  EXPECT_EQ(all[0].words,
            "vda: the limit of cgroup /web, 2.0 MB/s of writes (io.max) and 120 writes a second "
            "(io.max)");
  tree_.file("cg/web/a/io.max", "8:0 rbps=5 wbps=max\n254:0 rbps=1048576 wbps=max\n");
  all = found();
  ASSERT_EQ(all.size(), 1u) << "8:0 is no disk of this machine";
  EXPECT_EQ(all[0].words, "vda: the limit of cgroup /web/a, 1.0 MB/s of reads (io.max)");
}

TEST_F(DiskLimits, OfVersion1HaveOneFileEach) {
  tree_.file("blkio/batch/blkio.throttle.write_bps_device", "254:0 1048576\n");
  tree_.file("blkio/batch/blkio.throttle.read_iops_device", "");
  const auto all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].words,
            "vda: the limit of cgroup /batch, 1.0 MB/s of writes "
            "(blkio.throttle.write_bps_device)");
}

TEST_F(DiskLimits, WithoutOneNoneIsNamed) {
  EXPECT_TRUE(found().empty());
  tree_.file("cg/web/io.max", "254:0 rbps=max wbps=max riops=max wiops=max\n../x wbps=5\n");
  EXPECT_TRUE(found().empty());
}

}  // namespace
}  // namespace overdue
