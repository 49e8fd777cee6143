#pragma once

#include <span>

#include "cli/timerlat_figures.h"
#include "sinks/json_writer.h"

namespace overdue {

/// "count" … "max_ns": members of an object.
void write_latencies(JsonWriter& json, const Histogram& all);

/// "period_ns", "priority", "cpus", and "cause" where something stopped the run (else null):
/// members of the object `json` has open.
void write_timerlat(JsonWriter& json, const TimerlatPlan& plan, std::span<const TimerCpu> cpus,
                    const TimerStop* stop);

/// "cpus" alone.
void write_timer_cpus(JsonWriter& json, const TimerlatPlan& plan, std::span<const TimerCpu> cpus);

}  // namespace overdue
