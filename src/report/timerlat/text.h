#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/session_info.h"
#include "report/timerlat/figures.h"
#include "sinks/live_table.h"

namespace overdue {

/// Texts of `overdue timerlat`; every line ends in a newline.

/// Microseconds with one decimal.
std::string microseconds(std::uint64_t ns);

/// The head of a report: version, settings, host and start.
std::string timerlat_header(const SessionInfo& info, const TimerlatPlan& plan);

/// Figures by CPU, as in rtla's `top`; latencies in microseconds. `duration` is that of the session
/// so far. A narrow table has only the current and the maximum latency.
std::string timerlat_table(std::span<const TimerCpu> cpus, Duration duration,
                           TableWidth width = TableWidth::full);
inline constexpr std::size_t timerlat_table_width = 128;  ///< columns of the full table

/// Counts by bucket, a column for each CPU and context, as in rtla's `hist`. Empty buckets are left
/// out.
std::string timerlat_histogram(std::span<const TimerCpu> cpus, const TimerlatPlan& plan);

/// The activation that stopped the run, and why it was late: parts, picture, stack.
std::string timerlat_cause(const TimerStop& stop);

}  // namespace overdue
