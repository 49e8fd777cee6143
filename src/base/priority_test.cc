#include "base/priority.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

namespace overdue {
namespace {

int level() {
  return getpriority(PRIO_PROCESS, 0);
}

// Each test has a thread of its own: without privileges, a thread cannot take a lower level back.
void in_a_thread(void (*test)()) {
  std::thread(test).join();
}

TEST(RaisedPriority, IsOfOneThreadAndEnds) {
  in_a_thread([] {
    ASSERT_EQ(level(), 0) << "the test was started with nice";
    const int of_root = geteuid() == 0 ? -10 : 0;
    {
      const RaisedPriority priority;
      EXPECT_EQ(level(), of_root);
      EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())), 0);
      const pid_t child = fork();
      if (child == 0) {
        drop_raised_priority();
        _exit(level() == 0 ? 0 : 1);
      }
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << "a child process has the ordinary level";
      EXPECT_EQ(level(), of_root);
    }
    EXPECT_EQ(level(), 0);
  });
}

TEST(RaisedPriority, LeavesTheLevelThatAUserHasChosen) {
  in_a_thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
    const RaisedPriority priority;
    EXPECT_EQ(level(), 5);
    drop_raised_priority();
    EXPECT_EQ(level(), 5);
  });
}

}  // namespace
}  // namespace overdue
