#pragma once

#include <span>
#include <string>

#include "core/session_info.h"
#include "report/osnoise/figures.h"
#include "report/trace_lines.h"
#include "sinks/live_table.h"

namespace overdue {

/// Texts of `overdue osnoise`; every line ends in a newline.

/// The head of a report: version, settings, host and start.
std::string osnoise_header(const SessionInfo& info, const OsnoisePlan& plan);

/// Figures by CPU after `duration`, as in rtla's `osnoise top`; times in microseconds. A narrow
/// table has no runtime, and counts only hardware interferences.
std::string osnoise_table(std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan,
                          Duration duration, TableWidth width = TableWidth::full);
inline constexpr std::size_t osnoise_table_width = 120;  ///< columns of the full table

/// The parts of all CPUs' noise, longest first, at most `most` of a kind. Empty without noise.
std::string osnoise_parts(std::span<const OsnoiseCpu> cpus, std::size_t most, Whose by,
                          const Names& names);

/// Number of noises by bucket, a column for each CPU. Empty buckets are left out.
std::string osnoise_histogram(std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan);

/// The noise that ended the run, and its parts.
std::string osnoise_stop(const OsnoiseStop& stop, Whose by);

/// Lines in the format of the kernel's osnoise tracer and of its events.
class OsnoiseTrace {
 public:
  /// The tracer's header.
  static std::string header();
  /// Adds a line for each interference of a noise, and a line for the noise.
  void add(const osnoise_gap& gap, const TimerCause& cause);
  void add(const osnoise_sample& sample);
  /// The lines of events before `until_ns`, each line once.
  std::string take(std::uint64_t until_ns) { return lines_.take(until_ns); }

 private:
  TraceLines lines_;
};

}  // namespace overdue
