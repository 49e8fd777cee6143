#pragma once

#include "live/bound_threads.h"
#include "live/disk_writers.h"
#include "live/memory_limits.h"
#include "live/stall_probe_set.h"
#include "report/why/analysis.h"

namespace overdue {

/// The probes that WhyAnalysis needs. `whole_machine`: the target is all threads.
StallOptions why_probes(const WhyPlan& plan, bool whole_machine);

/// WhyPlan::sees_unix_questions.
bool sees_unix_questions(const Kernel& kernel);

/// What only /proc and the cgroups have. Constructed before the session. One thread.
class Surroundings {
 public:
  /// Adds what explains the causes to the session's information: who holds the locks of files, who
  /// is at the other end of waits that have not ended, which limits are reached, which threads are
  /// bound to few CPUs, or give way to others.
  void look(const WhyAnalysis& analysis, SessionInfo& info) const;

 private:
  MemoryLimits memory_limits_;
  BoundThreads bound_threads_;
  DiskWriters disk_writers_;
};

}  // namespace overdue
