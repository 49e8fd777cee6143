#pragma once

#include <span>
#include <string>

#include "cli/own_timers_table.h"
#include "core/session_info.h"

namespace overdue {

/// Texts of `overdue timerlat` with a target; every line ends in a newline.

/// Latencies by thread and kind of timer, in microseconds.
std::string own_timers_table(std::span<const OwnTimerRow> rows);

/// One wake-up and its parts.
std::string late_timer_text(const LateTimer& late, const SessionInfo& info);

}  // namespace overdue
