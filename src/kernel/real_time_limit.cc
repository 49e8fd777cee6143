#include "kernel/real_time_limit.h"

#include <cstdlib>

#include "base/read_text.h"
#include "kernel/membership.h"

namespace overdue {
namespace {

std::uint64_t setting_ns(const char* path) {
  return std::uint64_t{1000} * std::strtoull(read_word(path).c_str(), nullptr, 10);
}

}  // namespace

RealTimeLimit real_time_limit() {
  return {.runtime_ns = setting_ns("/proc/sys/kernel/sched_rt_runtime_us"),
          .period_ns = setting_ns("/proc/sys/kernel/sched_rt_period_us")};
}

std::uint32_t max_real_time_queues() {
  return 64 + 16 * possible_cpu_count();
}

}  // namespace overdue
