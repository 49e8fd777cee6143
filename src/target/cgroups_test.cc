#include "target/cgroups.h"

#include <sys/stat.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "target/fake_tree.h"

namespace overdue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::uint64_t inode(const std::filesystem::path& path) {
  struct stat facts{};
  EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
  return facts.st_ino;
}

/// A hybrid machine: v2 beside v1 cpu,cpuacct, memory and name=systemd.
class CgroupsTest : public testing::Test {
 protected:
  CgroupsTest() {
    for (const char* mount : {"unified", "cpu,cpuacct", "memory", "my systemd"})
      tree_.directory(std::filesystem::path("cg") / mount);
    const std::string base = (tree_ / "cg").native();
    tree_.file(
        "proc/self/mountinfo",
        fmt::format("22 1 0:20 / / rw - ext4 /dev/vda rw\n"
                    "31 22 0:28 / {0} rw,relatime - tmpfs tmpfs rw,mode=755\n"
                    "33 31 0:30 / {0}/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
                    "32 31 0:29 / {0}/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
                    "40 31 0:37 / {0}/my\\040systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
                    "41 31 0:38 / {0}/unified rw,relatime - cgroup2 cgroup2 rw\n"
                    "garbage\n",
                    base));
    tree_.file("proc/self/cgroup", "9:name=systemd:/\n4:memory:/x\n1:cpu,cpuacct:/\n0::/\n");
    tree_.directory("cg/unified/system.slice/web.service");
    tree_.directory("cg/unified/system.slice/db.service");
    tree_.directory("cg/memory/docker/abc");
  }

  Cgroups cgroups() const { return Cgroups(tree_ / "proc"); }
  std::string path(std::string_view text) const { return (tree_ / text).native(); }

  /// Message and hint of the Error that find() throws; expects `status` as its exit status.
  std::string failure(std::string_view name, int status) const {
    try {
      cgroups().find(name);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), status) << error.what();
      return std::string(error.what()) + " | " + error.hint();
    }
    ADD_FAILURE() << "found " << name;
    return {};
  }

  FakeTree tree_;
};

TEST_F(CgroupsTest, HierarchiesComeInOrderOfId) {
  const Cgroups all = cgroups();
  ASSERT_EQ(all.hierarchies().size(), 4u);
  EXPECT_TRUE(all.hierarchies()[0].v2);
  EXPECT_EQ(all.hierarchies()[0].description(), "cgroup v2");
  EXPECT_EQ(all.hierarchies()[1].controllers, "cpu,cpuacct");
  EXPECT_EQ(all.hierarchies()[2].controllers, "memory");
  EXPECT_EQ(all.hierarchies()[2].id, 4);
  EXPECT_EQ(all.hierarchies()[3].controllers, "name=systemd");
  EXPECT_EQ(all.hierarchies()[3].mount_point, tree_ / "cg/my systemd");
  EXPECT_EQ(all.hierarchy(4), &all.hierarchies()[2]);
  EXPECT_EQ(all.hierarchy(5), nullptr);
}

TEST_F(CgroupsTest, FindsADirectoryInItsHierarchy) {
  const CgroupTarget web = cgroups().find(path("cg/unified//system.slice/./web.service/"));
  EXPECT_TRUE(web.v2);
  EXPECT_EQ(web.hierarchy_id, 0);
  EXPECT_EQ(web.path, "/system.slice/web.service");
  EXPECT_EQ(web.id, inode(tree_ / "cg/unified/system.slice/web.service"));
  const CgroupTarget memory = cgroups().find(path("cg/memory/docker/abc"));
  EXPECT_FALSE(memory.v2);
  EXPECT_EQ(memory.controller, "memory");
  EXPECT_EQ(memory.hierarchy_id, 4);
  EXPECT_EQ(memory.path, "/docker/abc");
  EXPECT_EQ(cgroups().find(path("cg/memory")).path, "/");
}

TEST_F(CgroupsTest, FindsAPathInAHierarchy) {
  EXPECT_EQ(cgroups().find("system.slice/web.service").id,
            inode(tree_ / "cg/unified/system.slice/web.service"));
  EXPECT_EQ(cgroups().find("/docker/abc").controller, "memory");
  EXPECT_EQ(cgroups().find("/docker/abc").note, "");
  EXPECT_EQ(cgroups().find("/").hierarchy_id, 0);
}

TEST_F(CgroupsTest, FindsAPathAsItStandsBelowTheDirectoryOfCgroups) {
  EXPECT_EQ(cgroups().find("memory/docker/abc").controller, "memory");
  EXPECT_EQ(cgroups().find("memory/docker/abc").path, "/docker/abc");
  EXPECT_EQ(cgroups().find("unified/system.slice/web.service").id,
            inode(tree_ / "cg/unified/system.slice/web.service"));
  tree_.directory("cg/unified/memory/docker/abc");  // a cgroup of exactly this path comes first
  EXPECT_TRUE(cgroups().find("memory/docker/abc").v2);
  EXPECT_EQ(cgroups().find("memory/docker/abc").path, "/memory/docker/abc");
}

TEST_F(CgroupsTest, SymbolicLinksToMountPointsAreFollowed) {
  std::filesystem::create_directory_symlink("cpu,cpuacct", tree_ / "cg/cpu");
  tree_.directory("cg/cpu,cpuacct/batch");
  EXPECT_EQ(cgroups().find(path("cg/cpu/batch")).controller, "cpu,cpuacct");
}

TEST_F(CgroupsTest, ControllerPrefixChoosesTheHierarchy) {
  tree_.directory("cg/unified/docker/abc");
  EXPECT_TRUE(cgroups().find("/docker/abc").v2);
  EXPECT_EQ(cgroups().find("memory:/docker/abc").controller, "memory");
  EXPECT_TRUE(cgroups().find("unified:/docker/abc").v2);
}

TEST_F(CgroupsTest, AHierarchyWithoutAControllerIsRefusedOrPassedOver) {
  tree_.directory("cg/my systemd/docker/abc");
  tree_.file("cg/my systemd/docker/abc/cgroup.procs", "12\n");
  EXPECT_EQ(cgroups().find("/docker/abc").controller, "memory");
  EXPECT_EQ(cgroups().find("/docker/abc").note, "");
  EXPECT_THAT(failure(path("cg/my systemd/docker/abc"), 1), HasSubstr("no controller"));
  EXPECT_THAT(failure("name=systemd:/docker/abc", 1), HasSubstr("no controller"));
}

TEST_F(CgroupsTest, OfSeveralHierarchiesThePopulatedThenV2IsChosen) {
  tree_.directory("cg/unified/docker/abc");
  tree_.directory("cg/cpu,cpuacct/docker/abc");
  EXPECT_TRUE(cgroups().find("/docker/abc").v2);
  EXPECT_THAT(cgroups().find("/docker/abc").note, HasSubstr("using v2, not cpu,cpuacct, memory"));
  tree_.file("cg/memory/docker/abc/below/cgroup.procs", "12\n");
  EXPECT_EQ(cgroups().find("/docker/abc").controller, "memory");
  EXPECT_THAT(cgroups().find("/docker/abc").note,
              HasSubstr("using v1 memory, not v2, cpu,cpuacct"));
  tree_.file("cg/unified/docker/abc/cgroup.procs", "");
  tree_.file("cg/unified/docker/abc/cgroup.threads", "13\n");
  EXPECT_TRUE(cgroups().find("/docker/abc").v2);
}

TEST_F(CgroupsTest, TheLineageOfAProcessBeginsWithItsOwnCgroup) {
  const auto memberships = parse_memberships(
      "9:name=systemd:/\n4:memory:/docker/abc\n1:cpu,cpuacct:/batch\n0::/system.slice/gone/../x\n");
  std::vector<std::string> paths;
  for (const CgroupTarget& cgroup : cgroups().lineage(memberships, "memory"))
    paths.push_back(fmt::format("{}{}", cgroup.v2 ? "v2 " : "", cgroup.path));
  // The way up from a path with `..` begins where there is none.
  EXPECT_THAT(paths, ElementsAre("/docker/abc", "/docker", "/", "v2 /system.slice", "v2 /"));
}

TEST_F(CgroupsTest, DotDotAndEmptyPathsAreRefused) {
  EXPECT_THAT(failure("/system.slice/../docker", 2), HasSubstr("contains '..'"));
  EXPECT_THAT(failure(path("cg/unified/..") + "/memory", 2), HasSubstr("contains '..'"));
  EXPECT_THAT(failure("..", 2), HasSubstr("contains '..'"));
  EXPECT_THAT(failure("", 2), HasSubstr("empty"));
  tree_.directory("cg/unified/a..b");
  EXPECT_EQ(cgroups().find("a..b").path, "/a..b");
}

TEST_F(CgroupsTest, MissingCgroupShowsTheNeighbourhood) {
  EXPECT_THAT(failure("/system.slice/wob.service", 1), HasSubstr("did you mean"));
  EXPECT_THAT(failure("/system.slice/wob.service", 1), HasSubstr("'web.service'"));
  const std::string unlike = failure("/system.slice/something-else-entirely", 1);
  EXPECT_THAT(unlike, HasSubstr("no cgroup '/system.slice/something-else-entirely'"));
  EXPECT_THAT(unlike,
              HasSubstr("cgroup v2 has /system.slice with db.service, web.service below it"));
  EXPECT_THAT(failure("/docker/abc/deeper/still", 1),
              HasSubstr("memory has /docker/abc with nothing"));
  EXPECT_THAT(failure(path("cg/memory/dokcer"), 1), HasSubstr("'docker'"));
}

TEST_F(CgroupsTest, ManyChildrenAreCutAndHostileNamesEscaped) {
  for (int i = 0; i < 20; ++i) tree_.directory(fmt::format("cg/memory/docker/job-\x1b[{}", 10 + i));
  const std::string text = failure("memory:/docker/unlike-anything-there", 1);
  EXPECT_THAT(text, HasSubstr("and 15 more"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(CgroupsTest, DirectoryThatIsNoCgroupIsSaidToBeNone) {
  const std::string text = failure(tree_.root().native(), 1);
  EXPECT_THAT(text, HasSubstr("is a directory but not a cgroup"));
  EXPECT_THAT(text, HasSubstr(path("cg/unified")));
}

TEST_F(CgroupsTest, MachineWithoutCgroupsIsAnAnswer) {
  const FakeTree bare;
  bare.file("proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/vda rw\n");
  const Cgroups none(bare / "proc");
  EXPECT_THAT(none.hierarchies(), IsEmpty());
  try {
    none.find("/x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no cgroup file system is mounted"));
    EXPECT_THAT(error.hint(), HasSubstr("mount"));
  }
}

TEST_F(CgroupsTest, PartOfAHierarchyMountedInAContainer) {
  tree_.directory("inner/child");
  tree_.file("proc/self/mountinfo",
             fmt::format("41 31 0:38 /docker/abc {} rw - cgroup2 cgroup2 rw\n", path("inner")));
  const Cgroups inside = cgroups();
  ASSERT_EQ(inside.hierarchies().size(), 1u);
  EXPECT_EQ(inside.find("/docker/abc/child").id, inode(tree_ / "inner/child"));
  EXPECT_EQ(inside.find("/child").path, "/docker/abc/child");
  EXPECT_EQ(inside.find(path("inner/child")).path, "/docker/abc/child");
  const auto paths = cgroup_paths(inside.hierarchies()[0]);
  EXPECT_EQ(paths.at(inode(tree_ / "inner")), "/docker/abc");
  EXPECT_EQ(paths.at(inode(tree_ / "inner/child")), "/docker/abc/child");
}

TEST_F(CgroupsTest, FullMountIsPreferredToAPart) {
  const std::string again = fmt::format(
      "50 1 0:38 /part {} rw - cgroup2 cgroup2 rw\n41 31 0:38 / {} rw - cgroup2 cgroup2 rw\n",
      path("cg/memory"), path("cg/unified"));
  tree_.file("proc/self/mountinfo", again);
  ASSERT_EQ(cgroups().hierarchies().size(), 1u);
  EXPECT_EQ(cgroups().hierarchies()[0].mount_point, tree_ / "cg/unified");
}

TEST_F(CgroupsTest, PathsByIdCoverTheTreeAndAreBounded) {
  const Cgroups all = cgroups();
  const auto paths = cgroup_paths(all.hierarchies()[0]);
  EXPECT_EQ(paths.size(), 4u);
  EXPECT_EQ(paths.at(inode(tree_ / "cg/unified")), "/");
  EXPECT_EQ(paths.at(inode(tree_ / "cg/unified/system.slice/db.service")),
            "/system.slice/db.service");
  EXPECT_EQ(cgroup_paths(all.hierarchies()[0], 2).size(), 2u);
  std::filesystem::create_directory_symlink(tree_.root(), tree_ / "cg/unified/loop");
  EXPECT_EQ(cgroup_paths(all.hierarchies()[0]).size(), 4u);
}

TEST(MembershipTest, ReadsEveryFormOfLine) {
  const auto lines = parse_memberships(
      "12:cpu,cpuacct:/a:b\n9:name=systemd:/x (deleted)\n0::/\nbroken\n:::\n7:memory\n-1::/\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].hierarchy_id, 12);
  EXPECT_EQ(lines[0].controllers, "cpu,cpuacct");
  EXPECT_EQ(lines[0].path, "/a:b");
  EXPECT_EQ(lines[1].controllers, "name=systemd");
  EXPECT_EQ(lines[1].path, "/x");
  EXPECT_EQ(lines[2].hierarchy_id, 0);
  EXPECT_EQ(lines[2].path, "/");
}

TEST(RealCgroupsTest, EveryHierarchyHasARootThatIsFound) {
  const Cgroups real;
  if (real.hierarchies().empty()) GTEST_SKIP() << "no cgroup file system is mounted here";
  for (const CgroupHierarchy& hierarchy : real.hierarchies()) {
    if (!hierarchy.can_be_watched()) continue;
    const CgroupTarget root = real.find(hierarchy.mount_point.native());
    EXPECT_EQ(root.hierarchy_id, hierarchy.id);
    EXPECT_NE(root.id, 0u);
    EXPECT_EQ(cgroup_paths(hierarchy).count(root.id), 1u);
  }
}

}  // namespace
}  // namespace overdue
