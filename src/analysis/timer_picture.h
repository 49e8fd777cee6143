#pragma once

#include <string>
#include <vector>

#include "analysis/timer_cause.h"

namespace overdue {

/// Draws the latency as text, as the kernel's timerlat documentation does: at the top, the time
/// from the timer's expiry to the interrupt and to the thread; in the middle, the threads and
/// interrupts that had the CPU; at the bottom, the longest noise entries. A dash is a microsecond,
/// or more if the picture would be wider than `width`; the last line says how much. Every line ends
/// in a newline. All text is printable.
std::string draw_latency(const TimerCause& cause, std::size_t width = 70);

}  // namespace overdue
