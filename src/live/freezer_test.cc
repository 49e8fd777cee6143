#include "live/freezer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

TEST(FreezerText, NamesTheCgroupThatHasTheSetting) {
  const FakeTree tree;
  tree.file("proc/self/mountinfo",
            fmt::format("33 31 0:30 / {0}/cg rw - cgroup2 cgroup2 rw\n"
                        "34 31 0:31 / {0}/freezer rw - cgroup cgroup rw,freezer\n",
                        tree.root().native()));
  tree.file("proc/self/cgroup", "4:freezer:/\n0::/\n");
  tree.file("proc/7/cgroup", "4:freezer:/batch\n0::/shop/web\n");
  tree.file("cg/shop/web/cgroup.freeze", "0\n");
  tree.file("cg/shop/cgroup.freeze", "0\n");
  tree.file("freezer/batch/freezer.self_freezing", "0\n");
  const auto text = [&tree] { return freezer_text(7, tree / "proc"); };
  EXPECT_EQ(text(), "");
  tree.file("freezer/batch/freezer.self_freezing", "1\n");
  EXPECT_EQ(text(), "cgroup /batch is frozen (freezer.state)");
  tree.file("freezer/batch/freezer.self_freezing", "0\n");
  tree.file("cg/shop/cgroup.freeze", "1\n");
  EXPECT_EQ(text(), "cgroup /shop is frozen (cgroup.freeze)");
  EXPECT_EQ(freezer_text(8, tree / "proc"), "");
}

}  // namespace
}  // namespace overdue
