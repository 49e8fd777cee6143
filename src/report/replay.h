#pragma once

#include <string>
#include <string_view>

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

/// The setting of a recording of `record` that has neither calls nor spans, only parts.
inline constexpr const char* only_own = "only_own";

/// Of a recording with RecordedReport::calls: whether it has the calls that were not late.
bool has_every_call(const SessionInfo& info);
/// Likewise, whether it has spans, and what explains them.
bool has_stalls(const SessionInfo& info);

/// Whether the recording of `record` has the measurement `name` ("timerlat", "osnoise",
/// "app_timers", "worst" or "hwlat") beside other events.
bool has_part(const SessionInfo& info, std::string_view name);
/// That measurement as if its command had made the recording.
SessionInfo part_of(const SessionInfo& info, std::string_view name);

/// Prints a recording as the command that made it prints live; or its `part`, if that is not empty,
/// as the command of that measurement. Not for recordings with RecordedReport::calls or ::profile,
/// without a part. `view` is "summary", or, of timerlat and osnoise, "hist" or "trace"; `by`, of
/// osnoise, offcpu and why: the word of --by, or empty for that of the recording. Throws Error for
/// a view, word or format that the report does not have.
void replay_report(TraceReader& reader, const std::string& part, const std::string& view,
                   const std::string& by, const OutputOptions& output);

/// The same for a recording with RecordedReport::profile. The rate of `plan` is taken from the
/// recording.
void replay_profile(TraceReader& reader, ProfilePlan plan, const OutputOptions& output);

}  // namespace overdue
