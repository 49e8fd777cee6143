#include "source/timerlat_user_threads.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "kernel/tracing_instance.h"

namespace overdue {
namespace {

constexpr std::chrono::seconds longest_start{10};
constexpr std::chrono::milliseconds until_all_are_ended{300};

enum class Step : int { beginning, priority, pinning, opening, reading };

Error refused(Step step, std::uint32_t cpu, const std::string& file, int code) {
  switch (step) {
    case Step::pinning:
      return std::move(Error("CPU {} is offline, or none this process may run on", cpu)
                           .hint("see Cpus_allowed_list in /proc/self/status, and --cpu"));
    case Step::opening:
      return std::move(
          Error("cannot open {}: {}", printable(file), errno_text(code))
              .hint(code == EBUSY ? "another thread has it open: there is one at a time"
                                  : "the tracer was switched off or changed by another user; see "
                                    "current_tracer in tracefs"));
    case Step::reading:
      return std::move(
          Error("the kernel measures the thread of CPU {} no longer: it refuses to read {}: {}",
                cpu, printable(file), errno_text(code))
              .hint("it does so when the thread is moved to another CPU, by taskset, a cpuset, or "
                    "because its CPU went offline"));
    case Step::beginning:
    case Step::priority:
      break;
  }
  return std::move(Error("cannot make a real-time thread on CPU {}: {}", cpu, errno_text(code))
                       .hint("run as root, or with CAP_SYS_NICE"));
}

}  // namespace

/// The state of a worker, shared with it.
struct TimerlatUserThreads::Slot {
  std::atomic<Step> step = Step::beginning;
  std::atomic<int> error = 0;  ///< errno of the step, if it failed: the worker has ended
  /// The worker may open the file: if Overdue is killed, the tracer stays on until the worker ends.
  std::atomic<bool> is_watched = false;
};

TimerlatUserThreads::TimerlatUserThreads(const std::filesystem::path& tracefs,
                                         const TracingInstance& instance,
                                         const std::vector<std::uint32_t>& cpus, int priority) {
  slots_bytes_ = cpus.size() * sizeof(Slot);
  void* const shared =
      mmap(nullptr, slots_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Error("cannot map memory: {}", errno_text(errno));
  slots_ = static_cast<Slot*>(shared);
  for (std::size_t i = 0; i < cpus.size(); ++i) std::construct_at(slots_ + i);
  try {
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      start(tracefs, cpus[i], priority, slots_[i]);
      const Fd pidfd(check_errno(static_cast<int>(syscall(SYS_pidfd_open, workers_.back().pid, 0)),
                                 "cannot watch a process of ours"));
      instance.outlast(pidfd.get());
      slots_[i].is_watched = true;
    }
    const auto end = std::chrono::steady_clock::now() + longest_start;
    for (std::size_t i = 0; i < cpus.size(); ++i)
      while (slots_[i].step != Step::reading) {
        check();
        if (std::chrono::steady_clock::now() > end)
          throw Error("the thread of CPU {} does not get to run", cpus[i])
              .hint("something more urgent has that CPU; see ps -eLo cls,rtprio,psr,pcpu,comm");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
  } catch (const Error&) {
    end();
    throw;
  }
}

TimerlatUserThreads::~TimerlatUserThreads() {
  end();
}

// Overdue has threads, so after fork() the child makes only system calls.
void TimerlatUserThreads::start(const std::filesystem::path& tracefs, std::uint32_t cpu,
                                int priority, Slot& slot) {
  const std::string file = tracefs / fmt::format("osnoise/per_cpu/cpu{}/timerlat_fd", cpu);
  const std::string name = fmt::format("timerlat/{}", cpu);
  const sched_param parameters{.sched_priority = priority};
  std::vector<unsigned long> set(cpu / (8 * sizeof(unsigned long)) + 1);
  set.back() = 1ul << (cpu % (8 * sizeof(unsigned long)));
  const ThreadRights rights = ThreadRights::current().only(file_overrides);
  const pid_t parent = getpid();
  // Overdue's signals are not for the workers. SIGKILL, which ends them, cannot be blocked.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid != 0) {
    const int code = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) throw Error("cannot fork: {}", errno_text(code));
    workers_.push_back({cpu, pid});
    return;
  }
  const auto take = [&](Step step, long result) {
    if (result >= 0) return;
    slot.step = step;
    slot.error = errno;
    _exit(1);
  };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent has ended already
  prctl(PR_SET_NAME, name.c_str());
  // An instance cannot be removed while its files are open, and Overdue's pipes end with Overdue.
  syscall(SYS_close_range, 0u, ~0u, 0u);
  take(Step::priority, sched_setscheduler(0, SCHED_FIFO, &parameters));
  take(Step::pinning, syscall(SYS_sched_setaffinity, 0, set.size() * sizeof set[0], set.data()));
  rights.try_to_apply();
  const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (!slot.is_watched) nanosleep(&pause, nullptr);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  take(Step::opening, fd);
  slot.step = Step::reading;
  char byte;
  while (true) take(Step::reading, ::read(fd, &byte, 1));
}

void TimerlatUserThreads::check() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    int status = 0;
    if (worker.pid < 0 || waitpid(worker.pid, &status, WNOHANG) != worker.pid) continue;
    worker.pid = -1;
    // If the kernel ends the workers, let it end all of them before Overdue does.
    std::this_thread::sleep_for(until_all_are_ended);
    const std::string file = fmt::format("osnoise/per_cpu/cpu{}/timerlat_fd", worker.cpu);
    if (const int code = slots_[i].error; code != 0)
      throw refused(slots_[i].step, worker.cpu, file, code);
    if (!WIFSIGNALED(status)) throw Error("the thread of CPU {} has ended", worker.cpu);
    throw Error("the thread of CPU {} that waits in {} was killed by {}", worker.cpu, file,
                WTERMSIG(status) == SIGKILL ? std::string("SIGKILL")
                                            : fmt::format("signal {}", WTERMSIG(status)))
        .hint(
            "the kernel does so when the tracer is switched off or its options change "
            "(osnoise/); or another process sent the signal, or memory ran out: see dmesg");
  }
}

void TimerlatUserThreads::end() {
  for (const Worker& worker : workers_)
    if (worker.pid > 0) kill(worker.pid, SIGKILL);
  for (const Worker& worker : workers_)
    if (worker.pid > 0) waitpid(worker.pid, nullptr, 0);
  workers_.clear();
  if (slots_ != nullptr) munmap(slots_, slots_bytes_);
  slots_ = nullptr;
}

}  // namespace overdue
