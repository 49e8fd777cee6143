#pragma once

#include <string>

#include "report/output.h"
#include "report/profile/view.h"
#include "trace/reader.h"

namespace overdue {

/// The kind of report that a recording has.
enum class RecordedReport {
  calls,       ///< syscalls, stalls and record: `report` has views of all three
  timerlat,    ///< timerlat of workload threads, or of the kernel tracer's threads
  app_timers,  ///< timerlat of app timers
  osnoise,
  worst,
  hwlat,
  why,
  offcpu,
  profile,
};

RecordedReport report_of(const SessionInfo& info);

/// Of a recording with RecordedReport::calls: whether it has the calls that were not late.
bool has_every_call(const SessionInfo& info);
/// Likewise, whether it has spans, and what explains them.
bool has_stalls(const SessionInfo& info);

/// Prints a recording as the command that made it prints live. `kind` is not `calls` or `profile`;
/// `view` is "summary", or, of timerlat and osnoise, "hist" or "trace"; `by`, of osnoise, offcpu
/// and why: the word of --by, or empty for that of the recording. Throws Error for a view, word or
/// format that the report does not have.
void replay_report(TraceReader& reader, RecordedReport kind, const std::string& view,
                   const std::string& by, const OutputOptions& output);

/// The same for a recording with RecordedReport::profile. The rate of `plan` is taken from the
/// recording.
void replay_profile(TraceReader& reader, ProfilePlan plan, const OutputOptions& output);

}  // namespace overdue
