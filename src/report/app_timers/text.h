#pragma once

#include <span>
#include <string>

#include "core/session_info.h"
#include "report/app_timers/table.h"

namespace overdue {

/// Texts of `overdue timerlat` with a target; every line ends in a newline.

/// Latencies by thread and kind of timer, in microseconds.
std::string app_timers_table(std::span<const AppTimerRow> rows);

/// One wake-up and its parts.
std::string late_timer_text(const LateTimer& late, const SessionInfo& info);

}  // namespace overdue
