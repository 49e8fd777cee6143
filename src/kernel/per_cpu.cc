#include "kernel/per_cpu.h"

#include <string_view>

namespace overdue {

per_cpu_offsets find_per_cpu_offsets(const TracepointTypes& types) {
  const auto alone = [&](std::string_view name) {
    return static_cast<u32>(types.per_cpu_offset(name).value_or(0));
  };
  // 6.2 to 6.14 have these two in one variable, pcpu_hot (commits 64701838bf05, 46e8fff6d45f).
  const auto place = [&](std::string_view name, std::string_view in_hot) {
    if (types.per_cpu_offset(name)) return alone(name);
    const auto hot = types.per_cpu_offset("pcpu_hot");
    const auto member = types.member_offset("pcpu_hot", in_hot);
    return hot && member ? static_cast<u32>(*hot + *member) : u32{0};
  };
  return {.runqueues = alone("runqueues"),
          .current_task = place("current_task", "current_task"),
          .preempt_count = place("__preempt_count", "preempt_count"),
          .irq_regs = alone("__irq_regs"),
          .cpustat = alone("kernel_cpustat"),
          .reserved = 0};
}

}  // namespace overdue
