#include "live/jvm_perf_maps.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace overdue::jvm_perf_maps_test {
namespace {

/// A child that waits until it is killed; `prepare` runs in it first.
class Waiting {
 public:
  template <typename Prepare>
  explicit Waiting(Prepare prepare) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prepare();
      if (write(ready[1], "", 1) != 1) _exit(1);
      while (true) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Waiting() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(JvmPerfMaps, AProcessThatSigquitWouldEndIsNotAsked) {
  const Waiting plain([] { signal(SIGQUIT, SIG_DFL); });
  EXPECT_NE(why_not_asked(plain.pid()), "");
  const Waiting ignores([] { signal(SIGQUIT, SIG_IGN); });
  EXPECT_NE(why_not_asked(ignores.pid()), "");
  const Waiting handles([] { signal(SIGQUIT, [](int) {}); });
  EXPECT_EQ(why_not_asked(handles.pid()), "");
}

TEST(JvmPerfMaps, AProcessThatHasEndedIsNotAsked) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(why_not_asked(child), "it has ended");
}

TEST(JvmPerfMaps, AProgramThatHasNotStartedCannotBeAsked) {
  TargetSelection selection;
  selection.kind = TargetKind::command;
  EXPECT_THROW(ask_jvms_for_perf_maps(selection), Error);
}

TEST(JvmPerfMaps, ATargetWithoutAJvmSaysSo) {
  const Waiting handles([] { signal(SIGQUIT, [](int) {}); });
  TargetSelection selection;
  selection.kind = TargetKind::pid;
  selection.pids = {static_cast<std::uint32_t>(handles.pid())};
  EXPECT_EQ(ask_jvms_for_perf_maps(selection),
            std::vector<std::string>{"--perf-maps: the target has no JVM"});
}

}  // namespace
}  // namespace overdue::jvm_perf_maps_test
