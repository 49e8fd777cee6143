#pragma once

#include "core/latency_window.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Writes the members of a window into the open object of `json`.
void write_window(JsonWriter& json, const LatencyWindow& window);

/// For json_schema(): "window" of its "$defs", and the line of a stream.
extern const char* const window_definitions;
extern const char* const window_lines;

}  // namespace overdue
