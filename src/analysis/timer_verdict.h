#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timer_cause.h"

namespace overdue {

/// What sort of thing made a latency long.
enum class TimerFault {
  irqs_off,        ///< interrupts disabled, by whoever ran
  preemption_off,  ///< preemption disabled, by who ran when the interrupt came
  interference,    ///< others had the CPU: interrupts, or threads at least as urgent
  idle_exit,       ///< an idle CPU's way out of its sleep
  hardware,        ///< firmware, or a hypervisor
  wakeup,          ///< waking and switching itself
  own_work,        ///< the program's own, until it asked for the next activation
};

/// As JSON has it: "irqs_off", "preemption_off", …
std::string_view timer_fault_name(TimerFault fault);

struct TimerVerdict {
  TimerFault fault = TimerFault::wakeup;
  std::uint64_t ns = 0;  ///< of the latency, what is this fault's
  std::string who{};     ///< thread, interrupt; raw, empty where it is nobody's
  std::string text{};    ///< a sentence, fit to be printed
};

/// What the largest share of a latency was. `functions` are the names of cause.addresses, as far as
/// they are known, else empty strings; `priority` is that of the thread under SCHED_FIFO.
TimerVerdict judge(const TimerCause& cause, const std::vector<std::string>& functions,
                   int priority);

/// Where in `functions` the code begins that the timer's interrupt interrupted; their number where
/// there is no such place.
std::size_t interrupted_frame(const std::vector<std::string>& functions);

}  // namespace overdue
