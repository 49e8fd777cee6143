#include "target/kernel_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class KernelThreads : public testing::Test {
 protected:
  void kernel_thread(std::uint32_t tid, const std::string& comm) {
    tree_.thread({.tid = tid, .parent = tid == 2 ? 0u : 2u, .kernel = true, .comm = comm});
  }
  auto names() { return kernel_thread_names(Proc(tree_ / "proc")); }

  FakeTree tree_;
};

TEST_F(KernelThreads, HaveNamesThatSayMoreThanComm) {
  kernel_thread(2, "kthreadd");
  kernel_thread(3, "pool_workqueue_release");
  kernel_thread(4, "ksoftirqd/0");
  kernel_thread(5, "kworker/0:1-mm");
  tree_.thread({.tid = 6, .comm = "a_name_as_long_as_none"});
  const auto is_right = ElementsAre(Pair(3, "pool_workqueue_release"), Pair(5, "kworker/0:1-mm"));
  EXPECT_THAT(names(), is_right) << "by all processes";
  tree_.file("proc/2/task/2/children", "3 4 5 ");
  EXPECT_THAT(names(), is_right) << "by the list of children";
  tree_.file("proc/2/task/2/children", "3 4 5 7 ");
  EXPECT_THAT(names(), is_right) << "7 has ended meanwhile";
}

TEST_F(KernelThreads, AreNotKnownInANamespace) {
  tree_.thread({.tid = 2, .comm = "sh"});
  kernel_thread(3, "pool_workqueue_release");
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace overdue
