#pragma once

#include <string>
#include <vector>

#include "analysis/timer_cause.h"

namespace overdue {

/// The latency as a picture of lines, as the kernel's documentation of timerlat draws it: above,
/// from the moment the timer was set for to the interrupt and to the thread; in the middle who had
/// the CPU; below each piece of noise. A dash is a microsecond, or more where that would be wider
/// than `width`: the last line says how much. Every line ends in a newline; all of it is printable.
std::string draw_latency(const TimerCause& cause, std::size_t width = 70);

}  // namespace overdue
