#pragma once

#include <cstdint>
#include <vector>

#include "report/offcpu/table.h"

namespace overdue {

/// Time in which the thread could run and had no CPU.
inline std::uint64_t time_without_cpu_ns(const OffcpuRow& thread) {
  return thread.runqueue_ns + thread.preempted_ns;
}

inline constexpr std::size_t late_threads_max = 200;

/// The threads that could run and had no CPU for a tenth of their time or more, longest first, at
/// most late_threads_max.
std::vector<const OffcpuRow*> threads_without_cpu(const std::vector<OffcpuRow>& threads);

}  // namespace overdue
