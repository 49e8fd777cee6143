#pragma once

#include <cstdint>
#include <string>

#include "core/latency_window.h"

namespace overdue {

/// The kernel's mark for the time to the next entry: `$` over a second, `@` over 100 ms, `*` over
/// 10 ms, `#` over 1 ms, `!` over 100 us, `+` over 10 us, else a space.
char delay_mark(std::uint64_t ns);

/// The window in the kernel's latency format, as in the file `trace` of a latency tracer. In color,
/// the first line with need-resched set is bold: the event right before that line has set the flag.
std::string latency_format(const LatencyWindow& window, const SessionInfo& info,
                           bool color = false);

}  // namespace overdue
