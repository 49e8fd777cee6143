#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "core/session_info.h"

namespace overdue {

/// `1 call`, `2,000 calls`.
std::string counted(std::uint64_t number, std::string_view noun);

/// Nanoseconds as format_duration() prints them.
std::string duration_text(std::uint64_t ns);

/// `total` as a percentage of `whole` with one decimal; "-" if `whole` is 0.
std::string percent_of(std::uint64_t total, std::uint64_t whole);

/// The target in a few words: `git status`, `pid 12, 13`, `all processes`. Long command lines are
/// cut.
std::string target_text(const TargetInfo& target);

/// Local time as `2026-11-21 08:15:30 +0100`, and as `08:15:30.123`.
std::string local_date_time(WallTime time);
std::string local_time_of_day(WallTime time);

/// `text` with its lines folded at spaces, if any, to at most `width` columns; 0: not folded.
/// Continuation lines are indented deeper than the line itself. Color sequences have no width.
std::string folded_lines(std::string_view text, std::size_t width);

/// The two lines above a report, and an empty line: version, command, target, host and begin.
/// `with_duration`: also the duration.
std::string session_header(const SessionInfo& info, bool with_duration);

/// The lines below a report: events and loss, cost, frames, notes. Each line without its newline.
std::vector<std::string> receipt_lines(const SessionInfo& info, const Receipt& receipt);

}  // namespace overdue
