#include "core/latency_window.h"

#include <array>

namespace overdue {

std::string_view tracer_name(std::uint16_t tracer) {
  constexpr std::array<std::string_view, 7> names = {
      "unknown", "wakeup", "wakeup_rt", "wakeup_dl", "irqsoff", "preemptoff", "preemptirqsoff"};
  return names[tracer < names.size() ? tracer : 0];
}

std::string_view window_event_name(worst_event_kind kind) {
  switch (kind) {
    case WORST_EVENT_SWITCH:
      return "sched_switch";
    case WORST_EVENT_WAKING:
      return "sched_waking";
    case WORST_EVENT_WAKEUP:
      return "sched_wakeup";
    case WORST_EVENT_WAKEUP_NEW:
      return "sched_wakeup_new";
    case WORST_EVENT_MIGRATE:
      return "sched_migrate_task";
    case WORST_EVENT_IRQ_ENTRY:
      return "irq_handler_entry";
    case WORST_EVENT_IRQ_EXIT:
      return "irq_handler_exit";
    case WORST_EVENT_VECTOR_ENTRY:
      return "vector_entry";
    case WORST_EVENT_VECTOR_EXIT:
      return "vector_exit";
    case WORST_EVENT_SOFTIRQ_ENTRY:
      return "softirq_entry";
    case WORST_EVENT_SOFTIRQ_EXIT:
      return "softirq_exit";
  }
  return "unknown";
}

// include/linux/sched.h: the lowest bit set in TASK_REPORT, and two states beyond these bits.
char task_state_letter(std::uint32_t state) {
  constexpr std::uint32_t idle = 0x402, rtlock_wait = 0x1000;
  if (state == 0) return 'R';
  if ((state & idle) == idle) return 'I';
  if (state & rtlock_wait) return 'D';
  constexpr std::string_view letters = "SDTtXZP";
  for (unsigned bit = 0; bit < letters.size(); ++bit)
    if (state & (1u << bit)) return letters[bit];
  return '?';
}

void count_frames(const LatencyWindow& window, FrameCounts& counts) {
  for (const Stack* stack : {&window.waking_stack, &window.end_stack})
    for (const StackFrame& frame : *stack) {
      counts.kernel += 1;
      counts.kernel_unresolved += frame.name.empty();
    }
}

}  // namespace overdue
