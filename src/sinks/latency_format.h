#pragma once

#include <cstdint>
#include <string>

#include "core/latency_window.h"

namespace overdue {

/// The kernel's mark for the time to the next entry: `$` over a second, `@` over 100 ms, `*` over
/// 10 ms, `#` over 1 ms, `!` over 100 us, `+` over 10 us, else a space.
char delay_mark(std::uint64_t ns);

/// The window in the kernel's latency format: what `trace` of a latency tracer shows. In color, the
/// first line whose thread is to be rescheduled is bold: what set that flag is right before it.
std::string latency_format(const LatencyWindow& window, const SessionInfo& info,
                           bool color = false);

}  // namespace overdue
