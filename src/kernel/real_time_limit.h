#pragma once

#include <cstdint>

namespace overdue {

/// What real-time threads may have of each CPU: `runtime_ns` of each `period_ns`.
struct RealTimeLimit {
  std::uint64_t runtime_ns = 0;
  std::uint64_t period_ns = 0;
};

/// As the machine is set now. Zeros where the kernel does not say.
RealTimeLimit real_time_limit();

/// Size of `throttled_queues` where it holds real-time queues only: one for each CPU, and some for
/// cgroups.
std::uint32_t max_real_time_queues();

/// Enables bpf/real_time_queues.bpf.h in an object and passes it the limit.
template <typename ReadOnlyData>
void use_real_time_limit(ReadOnlyData& rodata) {
  const RealTimeLimit limit = real_time_limit();
  rodata.tells_real_time = 1;
  rodata.real_time_runtime_ns = limit.runtime_ns;
  rodata.real_time_period_ns = limit.period_ns;
}

}  // namespace overdue
