#include "core/wait_names.h"

#include <fmt/format.h>

#include "base/text.h"
#include "bpf/sched.h"
#include "core/interrupt_names.h"

namespace overdue {

std::string_view wait_state_name(std::uint32_t state) {
  switch (state) {
    case WAIT_PREEMPTED:
      return "preempted";
    case WAIT_SLEEPING:
      return "sleeping";
    case WAIT_UNINTERRUPTIBLE:
      return "uninterruptible";
    case WAIT_THROTTLED:
      return "throttled";
    case WAIT_UNKNOWN:
      return "unknown";
    default:
      return "other";
  }
}

std::string waker_name(std::uint32_t context, std::uint32_t number, std::string_view irq_name) {
  switch (context) {
    case WAKER_THREAD:
      return "thread";
    case WAKER_SOFTIRQ:
      return "softirq " + softirq_name(number);
    case WAKER_VECTOR:
      return "vector " + name_or_number(vector_names, number);
    case WAKER_IRQ:
      return irq_name.empty() ? fmt::format("irq {}", number)
                              : fmt::format("irq {} {}", number, printable(irq_name));
    default:
      return "unknown";
  }
}

}  // namespace overdue
