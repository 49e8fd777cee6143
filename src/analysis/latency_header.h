#pragma once

#include <optional>
#include <string_view>

#include "core/latency_window.h"

namespace overdue {

/// Reads the file `trace` of a kernel latency tracer into a window without events: the figures of
/// the header, and the whole text as `kernel_text`. Nothing if the text has no latency. The kernel
/// prints latencies in whole microseconds.
std::optional<LatencyWindow> parse_latency_trace(std::string_view text);

}  // namespace overdue
