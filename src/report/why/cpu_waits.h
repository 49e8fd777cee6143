#pragma once

#include "report/why/figures.h"

namespace overdue {

/// Adds the waits of runnable threads as causes: those for a CPU, and those under a limit of CPU
/// time. The totals are sums of the whole session, since many short waits are as bad as a long one.
/// Which threads ran meanwhile is known for the waits that were examined.
void add_cpu_waits(const WhyFindings& found, WhyFigures& figures);

}  // namespace overdue
