#pragma once

#include <vector>

#include "cli/own_timers_table.h"
#include "sinks/json_writer.h"

namespace overdue {

/// "timers": the members of a report on a target's own timers, latest first.
void write_own_timers(JsonWriter& json, const std::vector<const OwnTimerRow*>& rows,
                      KernelStacks& kernel);

/// "cause": what ended the run; null: nothing did.
void write_timer_stop(JsonWriter& json, const LateTimer* stop, KernelStacks& kernel);

}  // namespace overdue
