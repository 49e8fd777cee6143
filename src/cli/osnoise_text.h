#pragma once

#include <span>
#include <string>

#include "cli/osnoise_figures.h"
#include "cli/trace_lines.h"
#include "core/session_info.h"

namespace overdue {

/// Texts of `overdue osnoise`; every line ends in a newline.

/// Whose report this is.
std::string osnoise_header(const SessionInfo& info, const OsnoisePlan& plan);

/// Figures by CPU, as rtla's `osnoise top` has them; times in microseconds.
std::string osnoise_table(std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan,
                          const SessionInfo& info);

/// What the noise of all CPUs was, the longest first; at most `most` of a kind. Empty without
/// noise.
std::string osnoise_parts(std::span<const OsnoiseCpu> cpus, std::size_t most);

/// Pauses by bucket, a column for each CPU. Buckets nobody fell into are left out.
std::string osnoise_histogram(std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan);

/// What ended the run, and what it was.
std::string osnoise_stop(const OsnoiseStop& stop);

/// Lines in the format of the kernel's osnoise tracer and of its events.
class OsnoiseTrace {
 public:
  /// The tracer's header.
  static std::string header();
  /// A line for each that had the CPU in a pause, and one for the pause.
  void add(const osnoise_gap& gap, const TimerCause& cause);
  void add(const osnoise_sample& sample);
  /// The lines of what happened before `until`, and of no later one; each once.
  std::string take(std::uint64_t until_ns) { return lines_.take(until_ns); }

 private:
  TraceLines lines_;
};

}  // namespace overdue
