#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timer_cause.h"

namespace overdue {

/// Cause of a long latency.
enum class DelayCause {
  irqs_off,        ///< interrupts disabled by a running thread
  preemption_off,  ///< preemption disabled by the interrupted thread
  interference,    ///< interrupts, or threads of the same or a higher priority, on the CPU
  idle_exit,       ///< exit of an idle CPU from its sleep
  hardware,        ///< hardware, firmware or a hypervisor
  wakeup,          ///< wake-up of the thread and context switch
  own_work,        ///< the program's own work before it asks for the next activation
};

/// Name in JSON: "irqs_off", "preemption_off", …
std::string_view delay_cause_name(DelayCause cause);

struct TimerDiagnosis {
  DelayCause cause = DelayCause::wakeup;
  std::uint64_t ns = 0;  ///< part of the latency with this cause
  std::string who{};     ///< name of the thread or interrupt, raw; empty: none
  std::string text{};    ///< a sentence, printable
};

/// Diagnoses the largest share of a latency. `functions` are the names of cause.addresses; unknown
/// ones are empty. `priority` is the SCHED_FIFO priority of the thread.
TimerDiagnosis diagnose(const TimerCause& cause, const std::vector<std::string>& functions,
                        int priority);

/// Index in `functions` of the innermost function that the timer's interrupt interrupted;
/// functions.size() if there is none.
std::size_t interrupted_frame(const std::vector<std::string>& functions);

}  // namespace overdue
