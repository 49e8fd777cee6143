#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/session_info.h"
#include "report/app_timers/table.h"

namespace overdue {

/// Texts of `overdue timerlat` with a target; every line ends in a newline.

/// "slack", "irq", "handler", "run queue", "throttled" or "return", as in the docs.
std::string_view part_word(ShareKind kind);

/// Latencies by thread and kind of timer, in microseconds.
std::string app_timers_table(std::span<const AppTimerRow> rows);

/// One wake-up and its parts.
std::string late_timer_text(const LateTimer& late, const SessionInfo& info);

}  // namespace overdue
