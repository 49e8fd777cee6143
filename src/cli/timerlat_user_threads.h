#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace overdue {

class TracingInstance;

/// Threads that the kernel's timerlat tracer measures as it does a program's: on each CPU one waits
/// in `timerlat_fd`, comes back to its program, and waits again. Each is a process of its own,
/// since the kernel ends whoever waits there when the tracer is switched off; and each ends with
/// the thread that made this, however that ends, and before the tracer does: Linux (6.12 at least)
/// puts a reference twice where a thread closes the file while the tracer is switched off
/// (timerlat_fd_release() and stop_kthread(), which takes no lock), and crashes. One thread.
class TimerlatUserThreads {
 public:
  /// `instance` has the tracer, which must be on, without a workload of its own. Waits until each
  /// has its file open. Throws Error where the kernel refuses one.
  TimerlatUserThreads(const std::filesystem::path& tracefs, const TracingInstance& instance,
                      const std::vector<std::uint32_t>& cpus, int priority);
  /// Ends them.
  ~TimerlatUserThreads();
  TimerlatUserThreads(const TimerlatUserThreads&) = delete;
  TimerlatUserThreads& operator=(const TimerlatUserThreads&) = delete;

  /// Throws Error where one has ended by itself, and says why.
  void check();

 private:
  struct Slot;
  struct Worker {
    std::uint32_t cpu = 0;
    pid_t pid = -1;
  };
  void start(const std::filesystem::path& tracefs, std::uint32_t cpu, int priority, Slot& slot);
  void end();

  std::vector<Worker> workers_;
  Slot* slots_ = nullptr;  ///< shared with them
  std::size_t slots_bytes_ = 0;
};

}  // namespace overdue
