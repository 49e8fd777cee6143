#pragma once

#include <string>

namespace overdue {

/// The preemption model of a kernel, in the words of its latency tracers. A plain value.
struct Preemption {
  std::string model = "unknown";  ///< "server", "desktop", "preempt", "lazy", "preempt_rt"
  unsigned resched_bit = 3;       ///< TIF_NEED_RESCHED of thread_info::flags
  bool has_lazy = false;          ///< TIF_NEED_RESCHED_LAZY is the next higher bit

  bool operator==(const Preemption&) const = default;
};

}  // namespace overdue
