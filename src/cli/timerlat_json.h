#pragma once

#include <span>

#include "cli/timerlat_figures.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Writes "count" … "max_ns" as members of the open object.
void write_latencies(JsonWriter& json, const Histogram& all);

/// Writes "period_ns", "priority", "cpus" and "cause" as members of the open object; "cause" is
/// null if no limit stopped the run.
void write_timerlat(JsonWriter& json, const TimerlatPlan& plan, std::span<const TimerCpu> cpus,
                    const TimerStop* stop);

/// Writes "cpus" alone.
void write_timer_cpus(JsonWriter& json, const TimerlatPlan& plan, std::span<const TimerCpu> cpus);

}  // namespace overdue
