#pragma once

#include "live/stall_probe_set.h"
#include "report/why/analysis.h"

namespace overdue {

/// The probes that WhyAnalysis needs. `whole_machine`: the target is all threads.
StallOptions why_probes(const WhyPlan& plan, bool whole_machine);

/// WhyPlan::sees_unix_questions.
bool sees_unix_questions(const Kernel& kernel);

/// Adds what only /proc has at present to the session's information: who holds the locks of
/// files, and who is at the other end of waits that have not ended.
void look_around(const WhyAnalysis& analysis, SessionInfo& info);

}  // namespace overdue
