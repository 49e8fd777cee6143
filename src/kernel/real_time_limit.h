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

/// For how many queues of real-time threads there is room in `throttled_queues` where it has no
/// others: one a CPU, and some of cgroups.
std::uint32_t real_time_queues_at_most();

/// Tells programs with bpf/real_time_queues.bpf.h that there is such a limit.
template <typename ReadOnlyData>
void tell_real_time_limit(ReadOnlyData& rodata) {
  const RealTimeLimit limit = real_time_limit();
  rodata.tells_real_time = 1;
  rodata.real_time_runtime_ns = limit.runtime_ns;
  rodata.real_time_period_ns = limit.period_ns;
}

}  // namespace overdue
