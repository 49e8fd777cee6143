#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/timerlat_figures.h"
#include "core/session_info.h"

namespace overdue {

/// Texts of `overdue timerlat`; every line ends in a newline.

/// Microseconds with one decimal.
std::string microseconds(std::uint64_t ns);

/// Whose report this is.
std::string timerlat_header(const SessionInfo& info, const TimerlatPlan& plan);

/// Figures by CPU, as rtla's `top` has them; latencies in microseconds.
std::string timerlat_table(std::span<const TimerCpu> cpus, const SessionInfo& info);

/// Counts by bucket, a column for each CPU and context, as rtla's `hist` has them. Buckets nobody
/// fell into are left out.
std::string timerlat_histogram(std::span<const TimerCpu> cpus, const TimerlatPlan& plan);

/// What stopped the run, and why it was late: parts, picture, stack.
std::string timerlat_cause(const TimerStop& stop);

}  // namespace overdue
