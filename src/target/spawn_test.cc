#include "target/spawn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "target/proc.h"
#include "target/selection.h"
#include "target/spawn_fixture.h"

namespace overdue {
namespace {

using testing::HasSubstr;

TEST_F(SpawnTest, ExitStatusIsTheProgramsOwn) {
  EXPECT_EQ(run({"true"}), 0);
  EXPECT_EQ(run({"false"}), 1);
  EXPECT_EQ(run({"sh", "-c", "exit 42"}), 42);
  EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}), 128 + SIGKILL);
  EXPECT_EQ(run({"sh", "-c", "kill -TERM $$"}), 128 + SIGTERM);
}

TEST_F(SpawnTest, NothingRunsBeforeRelease) {
  const std::string marker = tree_ / "marker";
  SpawnedProgram program({"touch", marker});
  EXPECT_THAT(program.path(), HasSubstr("/touch"));
  EXPECT_EQ(program.try_wait(), std::nullopt);
  EXPECT_NE(Proc().thread(program.pid())->comm, "touch");
  EXPECT_FALSE(std::filesystem::exists(marker));
  program.release();
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(marker));
  EXPECT_EQ(program.try_wait(), 0);
}

TEST_F(SpawnTest, ReleaseReturnsWhenTheProgramHasReplacedUs) {
  SpawnedProgram program({"sleep", "100"});
  program.release();
  // The kernel sets the thread's name a moment later.
  EXPECT_EQ(std::filesystem::read_symlink(fmt::format("/proc/{}/exe", program.pid())),
            std::filesystem::canonical(program.path()));
  EXPECT_TRUE(program.forward(SIGTERM));
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
}

TEST_F(SpawnTest, ArgumentsAndEnvironmentPassThrough) {
  const Variable variable("OVERDUE_TEST_VALUE", "a b\nc");
  EXPECT_EQ(output_of({"sh", "-c", "printf '%s|%s' \"$OVERDUE_TEST_VALUE\" \"$1\"", "x", ""}),
            "a b\nc|");
  const std::string longest(4096, 'y');
  EXPECT_EQ(output_of({"printf", "%s", longest}), longest);
}

TEST_F(SpawnTest, DescriptorsDoNotLeak) {
  const auto listed = [](const std::string& text) {
    std::istringstream stream(text);
    return std::multiset<std::string>(std::istream_iterator<std::string>(stream), {});
  };
  const std::string direct = output_of({"ls", "/proc/self/fd"});
  const Fd own(open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnedProgram waiting({"true"});
  const SpawnedProgram second({"true"});
  EXPECT_EQ(listed(output_of({"ls", "/proc/self/fd"})), listed(direct));
  std::multiset<std::string> expected;
  for (int fd = 0; fd < 1024; ++fd)
    if (const int flags = fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) == 0)
      expected.insert(std::to_string(fd));
  EXPECT_EQ(listed(direct).size(), expected.size() + 1) << direct;  // ls has the directory open
  waiting.release();
  EXPECT_EQ(waiting.wait(), 0);
}

TEST_F(SpawnTest, SignalsOfTheChildAreDefault) {
  struct sigaction ours{};
  struct sigaction before_pipe{};
  struct sigaction before_int{};
  ours.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ours, &before_pipe);
  ours.sa_handler = [](int) {};
  sigaction(SIGINT, &ours, &before_int);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const std::string status = output_of({"cat", "/proc/self/status"});
  sigset_t after;
  sigprocmask(SIG_SETMASK, &before, &after);
  sigaction(SIGPIPE, &before_pipe, nullptr);
  sigaction(SIGINT, &before_int, nullptr);
  EXPECT_EQ(status_mask(status, "SigBlk"), 0u);
  EXPECT_EQ(status_mask(status, "SigIgn"), 0u);
  EXPECT_EQ(status_mask(status, "SigCgt"), 0u);
  EXPECT_EQ(sigismember(&after, SIGUSR1), 1) << "our own mask must not change";
  EXPECT_EQ(sigismember(&after, SIGUSR2), 0);
}

TEST_F(SpawnTest, InheritedStateIsGivenToTheChild) {
  InheritedState state = InheritedState::current();
  sigemptyset(&state.ignored);
  sigemptyset(&state.blocked);
  sigaddset(&state.ignored, SIGHUP);  // as under nohup
  sigaddset(&state.blocked, SIGUSR2);
  state.open_files.rlim_cur = 77;
  const std::string status = output_of({"cat", "/proc/self/status"}, {.inherited = state});
  EXPECT_EQ(status_mask(status, "SigBlk"), 1u << (SIGUSR2 - 1));
  EXPECT_EQ(status_mask(status, "SigIgn"), 1u << (SIGHUP - 1));
  EXPECT_EQ(output_of({"sh", "-c", "ulimit -Sn"}, {.inherited = state}), "77\n");
}

TEST_F(SpawnTest, SignalsAreForwarded) {
  SpawnedProgram program({"sh", "-c",
                          "trap 'exit 9' USR1; echo > \"$0\"; while :; do sleep 0.01; done",
                          tree_ / "ready"});
  program.release();
  while (!std::filesystem::exists(tree_ / "ready")) usleep(1000);
  EXPECT_TRUE(program.forward(SIGUSR1));
  EXPECT_EQ(program.wait(), 9);
  EXPECT_FALSE(program.forward(SIGUSR1));
}

TEST_F(SpawnTest, StoppedProgramHasNotEnded) {
  SpawnedProgram program({"sleep", "100"});
  program.release();
  program.forward(SIGSTOP);
  while (Proc().thread(program.pid())->state != 'T') usleep(1000);
  EXPECT_EQ(program.try_wait(), std::nullopt);
  EXPECT_FALSE(has_ended(program.pidfd(), 0));
  program.forward(SIGCONT);
  program.forward(SIGTERM);
  EXPECT_TRUE(has_ended(program.pidfd(), 10'000));
  EXPECT_EQ(program.try_wait(), 128 + SIGTERM);
}

/// Starts a process that runs `script` through SpawnedProgram, as a job in a process group of its
/// own. The script writes its process id to `ready`.
pid_t start_job(const std::string& script, const std::filesystem::path& ready) {
  const pid_t job = fork();
  if (job == 0) {
    setpgid(0, 0);
    SpawnedProgram program({"sh", "-c", script, ready});
    program.release();
    _exit(program.wait());
  }
  setpgid(job, job);
  while (!std::filesystem::exists(ready) || std::filesystem::file_size(ready) == 0) usleep(1000);
  return job;
}

TEST_F(SpawnTest, TheStopKeyStopsTheProgramFirst) {
  const std::filesystem::path ready = tree_ / "ready";
  // Like an editor, the program restores something before it stops.
  const pid_t job = start_job(
      "trap 'sleep 0.3; kill -STOP $$' TSTP; trap 'exit 7' TERM; echo $$ > \"$0\"; while :; do :; "
      "done",
      ready);
  pid_t program = 0;
  std::ifstream(ready) >> program;
  for (int times = 0; times < 2; ++times) {
    kill(-job, SIGTSTP);
    int status = 0;
    ASSERT_EQ(waitpid(job, &status, WUNTRACED), job);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(Proc().thread(static_cast<std::uint32_t>(program))->state, 'T');
    kill(-job, SIGCONT);
  }
  kill(program, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(job, &status, 0), job);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(SpawnTest, WhereTheProgramGoesOnInSpiteOfTheStopKeySoDoWe) {
  const std::filesystem::path ready = tree_ / "ready";
  const pid_t job = start_job(
      "trap 'echo > \"$0.tstp\"' TSTP; trap 'exit 7' TERM; echo $$ > \"$0\"; while :; do :; done",
      ready);
  pid_t program = 0;
  std::ifstream(ready) >> program;
  kill(-job, SIGTSTP);
  while (!std::filesystem::exists(ready.string() + ".tstp")) usleep(1000);
  kill(program, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(job, &status, WUNTRACED), job);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(SpawnTest, ChildStoppedAtTheGateHoldsNobodyUp) {
  for (const char* name : {"true", "false"}) {
    SpawnedProgram program({name});
    const auto pid = static_cast<pid_t>(program.pid());
    ASSERT_EQ(::kill(pid, SIGSTOP), 0);
    siginfo_t stopped{};
    ASSERT_EQ(::waitid(P_PID, program.pid(), &stopped, WSTOPPED | WNOWAIT), 0);
    program.release();
    EXPECT_FALSE(program.try_wait());
    ASSERT_EQ(::kill(pid, SIGCONT), 0);
    EXPECT_EQ(program.wait(), std::string_view(name) == "true" ? 0 : 1);
  }
}

TEST_F(SpawnTest, ChildKilledAtTheGateIsNoError) {
  SpawnedProgram program({"true"});
  program.forward(SIGKILL);
  program.release();
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
}

TEST_F(SpawnTest, StatusIsKeptWhereChildrenWereIgnored) {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  EXPECT_EQ(run({"sh", "-c", "exit 7"}), 7);
  sigaction(SIGCHLD, &before, nullptr);
}

TEST_F(SpawnTest, DestructorBeforeReleaseRunsNothingAndLeavesNothing) {
  const std::string marker = tree_ / "marker";
  std::uint32_t pid = 0;
  {
    const SpawnedProgram program({"touch", marker});
    pid = program.pid();
    kill(static_cast<pid_t>(pid), SIGSTOP);  // a stopped child must not delay the destructor
  }
  EXPECT_FALSE(Proc().thread(pid));
  EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(SpawnTest, DestructorAfterReleaseLeavesTheProgramRunning) {
  auto program = std::make_unique<SpawnedProgram>(std::vector<std::string>{"sleep", "100"});
  program->release();
  const auto pid = static_cast<pid_t>(program->pid());
  program.reset();
  ASSERT_TRUE(Proc().thread(static_cast<std::uint32_t>(pid)));
  EXPECT_FALSE(Proc().thread(static_cast<std::uint32_t>(pid))->has_ended());
  kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

/// A process that starts `argv`, reports the program's pid and waits for kill -9, in place of
/// Overdue.
class Victim {
 public:
  Victim(const std::vector<std::string>& argv, bool release) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    const Fd reader(ends[0]);
    Fd writer(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      SpawnedProgram program(argv);
      if (release) program.release();
      const std::uint32_t pid = program.pid();
      if (write(writer.get(), &pid, sizeof pid) != sizeof pid) _exit(1);
      for (;;) pause();
    }
    writer.reset();
    std::uint32_t pid = 0;
    if (read(reader.get(), &pid, sizeof pid) == sizeof pid) watch_ = watch_process(pid);
  }
  ~Victim() { end(); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  int program() const { return watch_ ? watch_->get() : -1; }

 private:
  pid_t pid_ = -1;
  std::optional<Fd> watch_;
};

TEST_F(SpawnTest, KillingUsAtTheGateEndsTheChildWithoutRunningIt) {
  const std::string marker = tree_ / "marker";
  Victim victim({"touch", marker}, false);
  ASSERT_GE(victim.program(), 0);
  EXPECT_FALSE(has_ended(victim.program(), 0));
  victim.end();
  EXPECT_TRUE(has_ended(victim.program(), 10'000));
  EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(SpawnTest, KillingUsAfterReleaseLeavesTheProgramUnharmed) {
  const std::string fifo = tree_ / "fifo";
  const std::string marker = tree_ / "marker";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Victim victim({"sh", "-c", "read line < \"$0\" && touch \"$1\"", fifo, marker}, true);
  ASSERT_GE(victim.program(), 0);
  victim.end();
  EXPECT_FALSE(has_ended(victim.program(), 0));
  std::ofstream(fifo) << "go on\n";
  EXPECT_TRUE(has_ended(victim.program(), 10'000));
  EXPECT_TRUE(std::filesystem::exists(marker));
}

TEST_F(SpawnTest, HundredLaunchesLeaveNoZombieAndNoDescriptor) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(run({"/bin/true"}), 0);
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace overdue
