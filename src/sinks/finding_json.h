#pragma once

#include <optional>

#include "core/finding.h"
#include "sinks/json_writer.h"

namespace overdue {

/// The members of a finding, after its "type", as docs/commands/stalls.md lists them.
void write_finding(JsonWriter& json, const Finding& finding);

/// An array of frames, innermost first.
void write_stack(JsonWriter& json, const Stack& stack);

/// Whose quota it was, as `throttled_by`; nothing where that is not known.
void write_throttle(JsonWriter& json, const std::optional<Throttle>& by);

}  // namespace overdue
