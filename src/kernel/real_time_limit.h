#pragma once

#include <cstdint>

namespace overdue {

/// The limit of real-time threads on each CPU: `runtime_ns` per `period_ns`.
struct RealTimeLimit {
  std::uint64_t runtime_ns = 0;
  std::uint64_t period_ns = 0;
};

/// The current limit of the machine; zeros if unknown.
RealTimeLimit real_time_limit();

/// The size of `throttled_queues` with real-time queues only: one for each CPU, and some for
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
