#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "report/offcpu/table.h"
#include "report/why/remarks.h"

namespace overdue {

/// Threads that wait for a few CPUs while others are idle, since they may not run on these. Used by
/// one thread.
class BoundThreads {
 public:
  static constexpr unsigned idle_from = 25;  ///< percent of the time of the other CPUs

  /// The time of the other CPUs counts from now on. `proc`: with the CPUs' times and the threads.
  explicit BoundThreads(std::filesystem::path proc = "/proc");

  /// The words for each of these threads, by tid. A thread that has ended, or that has waited
  /// little, is left out.
  std::vector<Remark> among(const std::vector<OffcpuRow>& threads) const;

 private:
  /// In the kernel's ticks.
  struct CpuTime {
    std::uint64_t idle = 0, all = 0;
  };
  std::map<std::uint32_t, CpuTime> times() const;

  std::filesystem::path proc_;
  std::map<std::uint32_t, CpuTime> begin_;
};

}  // namespace overdue
