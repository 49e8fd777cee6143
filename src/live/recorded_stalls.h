#pragma once

#include "core/session_info.h"
#include "report/stalls/view.h"

namespace overdue {

/// Sets the options of a view to the spans and thresholds of a recording: they decide which waits
/// are findings, and which threshold each finding passed. `info` is hostile.
void take_recorded(const SessionInfo& info, StallViewOptions& options);

}  // namespace overdue
