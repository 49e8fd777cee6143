#pragma once

#include "core/finding.h"
#include "core/members.h"
#include "core/session_info.h"

namespace overdue {

/// The cells of a finding in CSV: the parts of its latency, its longest wait and the waker of that
/// wait. Stacks are folded: functions, outermost first, separated by `;`.
void describe_finding_cells(Members& cell, const Finding& finding, const SessionInfo& info);

}  // namespace overdue
