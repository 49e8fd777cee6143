#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "kernel/mapped.h"

namespace overdue {

/// Sees which system calls threads make beyond a known set, without a hook in anybody else's way:
/// perf events on raw_syscalls:sys_enter that exist for the watched threads (and what they start)
/// only, with a filter in the kernel that leaves the known calls out. The kernel does not let a
/// filter be changed: to leave out more, make another watch. One thread.
class LateWatch {
 public:
  struct LateCall {
    std::uint32_t nr;
    std::uint32_t pid;
    std::uint32_t tid;
    KernelTime time;
  };

  /// Starts with `known` native numbers left out. `machine_wide` watches everything instead of
  /// single threads. Throws Error where perf events are refused.
  LateWatch(bool machine_wide, std::span<const std::uint32_t> known);

  /// Watches one more thread and the threads and processes it will start. A thread that is gone is
  /// no error.
  void add_thread(std::uint32_t tid);

  /// Delivers what was seen since the last call. Returns how many the kernel says it had to drop.
  std::uint64_t poll(const std::function<void(const LateCall&)>& handler);

 private:
  void open(int tid, std::uint32_t cpu);
  void apply_filter(int event);
  std::uint64_t drain(const Mapped& ring, const std::function<void(const LateCall&)>& handler);

  std::uint64_t tracepoint_id_;
  std::vector<std::uint32_t> known_;
  std::vector<Fd> events_;
  std::vector<int>
      first_of_cpu_;  // the event whose ring takes all of a CPU's samples; -1: none yet
  std::vector<Mapped> rings_;
};

}  // namespace overdue
