#pragma once

#include <vector>

#include "cli/own_timers_table.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Writes "timers": the app timers of a target, latest first.
void write_own_timers(JsonWriter& json, const std::vector<const OwnTimerRow*>& rows,
                      StackNamer& stacks);

/// Writes "cause": the wake-up that ended the run; null if none did.
void write_timer_stop(JsonWriter& json, const LateTimer* stop, StackNamer& stacks);

}  // namespace overdue
