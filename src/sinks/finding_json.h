#pragma once

#include <optional>

#include "core/finding.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Writes the members of a finding after "type"; docs/commands/stalls.md explains them.
void write_finding(JsonWriter& json, const Finding& finding);

/// Writes an array of frames, innermost first.
void write_stack(JsonWriter& json, const Stack& stack);

/// Writes the quota or limit as `throttled_by`; nothing if it is unknown.
void write_throttle(JsonWriter& json, const std::optional<Throttle>& by);

}  // namespace overdue
