#include "live/reached_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include <gtest/gtest.h>

namespace overdue {
namespace {

/// A child that is ready once it has done `prepare`.
class Child {
 public:
  explicit Child(const std::function<void()>& prepare) {
    int ready[2] = {};
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prepare();
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    [[maybe_unused]] const ssize_t length = read(ready[0], &byte, 1);
    close(ready[0]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
};

TEST(ReachedLimits, SayHowManyDescriptorsAreOpen) {
  const Child child([] {
    const rlimit few{.rlim_cur = 30, .rlim_max = 30};
    setrlimit(RLIMIT_NOFILE, &few);
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    // What says that the child is ready is a descriptor that it closes then.
    const rlimit fewer{.rlim_cur = 29, .rlim_max = 29};
    setrlimit(RLIMIT_NOFILE, &fewer);
  });
  const auto found = reached_limits({{child.pid(), Shortage::descriptors}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, child.pid());
  EXPECT_TRUE(found[0].words.ends_with(" of 29 descriptors are open (ulimit -n)"))
      << found[0].words;
}

TEST(ReachedLimits, AreSilentWhereThereIsRoom) {
  const Child child([] {});
  EXPECT_TRUE(reached_limits({{child.pid(), Shortage::descriptors}}).empty());
  EXPECT_TRUE(reached_limits({{child.pid(), Shortage::other}}).empty());
  EXPECT_TRUE(reached_limits({{UINT32_MAX, Shortage::processes}}).empty());
}

}  // namespace
}  // namespace overdue
