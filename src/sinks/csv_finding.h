#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "core/session_info.h"
#include "sinks/output.h"

namespace overdue {

/// Columns of findings: one row per finding, with the parts of its latency, its longest wait and
/// the waker of that wait. Stacks are folded: functions, outermost first, separated by `;`.
std::vector<std::string> finding_columns();

/// Appends the row of a finding, in the order of finding_columns(), with a newline.
void append_finding_row(Output& output, const Finding& finding, const SessionInfo& info);

}  // namespace overdue
