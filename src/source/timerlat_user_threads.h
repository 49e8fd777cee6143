#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace overdue {

class TracingInstance;

/// Workload threads that the kernel's timerlat tracer measures like threads of a program: on each
/// CPU, one thread waits in `timerlat_fd`, comes back to its program, and waits again. Each is a
/// process of its own, since the kernel kills the waiting thread when the tracer is switched off.
/// Each ends with the thread that made this object, however that thread ends, and before the
/// tracer: Linux (6.12 at least) puts a reference twice, and crashes, if a thread closes the file
/// while the tracer is switched off (timerlat_fd_release() and stop_kthread(), which takes no
/// lock). Used by one thread.
class TimerlatUserThreads {
 public:
  /// The tracer of `instance` must be on, without a workload of its own. Waits until each thread
  /// has its file open. Throws Error if the kernel refuses a thread.
  TimerlatUserThreads(const std::filesystem::path& tracefs, const TracingInstance& instance,
                      const std::vector<std::uint32_t>& cpus, int priority);
  /// Ends the threads.
  ~TimerlatUserThreads();
  TimerlatUserThreads(const TimerlatUserThreads&) = delete;
  TimerlatUserThreads& operator=(const TimerlatUserThreads&) = delete;

  /// Throws Error, with the reason, if a thread has ended by itself.
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
  Slot* slots_ = nullptr;  ///< shared with the threads
  std::size_t slots_bytes_ = 0;
};

}  // namespace overdue
