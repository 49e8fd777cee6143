#include "analysis/waker_words.h"

#include <utility>

namespace overdue {
namespace {

constexpr std::uint16_t net_rx = 3;  // include/linux/interrupt.h

/// Without what compilers append: "bio_endio.part.0".
std::string_view function_of(const StackFrame& frame) {
  const std::string_view name = frame.name;
  return name.substr(0, name.find('.'));
}

}  // namespace

// The queue of a CPU for what is not from a device is emptied where soft interrupts come on again
// in the sender's call (net/core/dev.c); or by an interrupt that comes first.
bool ran_in_own_call(const RawWaker& waker, const Stack& stack) {
  if (waker.context != WAKER_SOFTIRQ || waker.number != net_rx) return false;
  bool is_backlog = false;
  for (const StackFrame& frame : stack) {
    const std::string_view function = function_of(frame);
    is_backlog |= function == "process_backlog";
    if (function == "__local_bh_enable_ip") return is_backlog;
    if (function.find("irq_exit") != std::string_view::npos || function == "run_ksoftirqd")
      return false;
  }
  return false;
}

// The innermost one counts: an interrupt may have met another.
std::string_view interrupt_meaning(const Stack& stack) {
  constexpr std::pair<std::string_view, std::string_view> meanings[] = {
      {"hrtimer_wakeup", "timeout"},
      {"process_timeout", "timeout"},
      {"bio_endio", "disk completion"},
      {"blk_update_request", "disk completion"},
      {"blk_mq_end_request", "disk completion"},
      {"blk_mq_end_request_batch", "disk completion"}};
  for (const StackFrame& frame : stack)
    for (const auto& [function, meaning] : meanings)
      if (function_of(frame) == function) return meaning;
  return "";
}

}  // namespace overdue
