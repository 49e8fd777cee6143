#pragma once

#include <string>

namespace overdue {

/// How a kernel preempts, as its latency tracers tell of it. A plain value.
struct Preemption {
  std::string model = "unknown";  ///< "server", "desktop", "preempt", "lazy", "preempt_rt"
  unsigned resched_bit = 3;       ///< TIF_NEED_RESCHED of thread_info::flags
  bool has_lazy = false;          ///< the bit above it is TIF_NEED_RESCHED_LAZY

  bool operator==(const Preemption&) const = default;
};

}  // namespace overdue
