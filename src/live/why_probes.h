#pragma once

#include "live/stall_probe_set.h"
#include "report/why/analysis.h"

namespace overdue {

/// The probes that WhyAnalysis needs. `whole_machine`: the target is all threads.
StallOptions why_probes(const WhyPlan& plan, bool whole_machine);

}  // namespace overdue
