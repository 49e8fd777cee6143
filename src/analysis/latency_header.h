#pragma once

#include <optional>
#include <string_view>

#include "core/latency_window.h"

namespace overdue {

/// What the file `trace` of a latency tracer of the kernel says, as a window whose entries are the
/// kernel's own text: the figures of its header, the whole as `kernel_text`. Nothing where there is
/// no latency in it. The kernel counts whole microseconds.
std::optional<LatencyWindow> parse_latency_trace(std::string_view text);

}  // namespace overdue
