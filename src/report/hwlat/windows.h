#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/timer_cause.h"
#include "bpf/osnoise.h"
#include "core/members.h"
#include "core/session_info.h"

namespace overdue {

/// A window with latencies that software does not explain, as the kernel's hwlat tracer reports it.
struct HwlatSample {
  std::uint64_t number = 0;  ///< number of the window, from 1
  std::uint32_t cpu = 0;
  std::uint32_t tid = 0;  ///< tid of the busy thread
  std::string comm{};
  std::string flags{};         ///< latency flags of the trace line
  std::uint64_t time_ns = 0;   ///< end of the window
  std::uint64_t inner_ns = 0;  ///< longest time between the two clock reads of a pair
  std::uint64_t outer_ns = 0;  ///< longest time from one pair to the next
  WallTime first{};            ///< begin of the first latency
  std::uint64_t count = 0;     ///< number of latencies at or over the threshold
  std::uint64_t nmi_total_ns = 0;
  std::uint64_t nmi_count = 0;
};

/// Makes windows from the noise of busy threads, without the part that software explains: a noise
/// in which a thread ran is left out, and from others the interrupts are subtracted. NMIs stay part
/// of the latency, as with the kernel's tracer, and are reported.
class HwlatWindows {
 public:
  explicit HwlatWindows(std::uint64_t threshold_ns) : threshold_ns_(threshold_ns) {}

  void add(const osnoise_gap& gap, const TimerCause& cause, const SessionInfo& info);
  /// Ends the window of a CPU; nothing if no latency reached the threshold.
  std::optional<HwlatSample> end(const osnoise_sample& sample);
  /// Number of noises at or over the threshold that software explains.
  std::uint64_t explained() const { return explained_; }

 private:
  std::uint64_t threshold_ns_;
  std::uint64_t found_ = 0, explained_ = 0;
  std::map<std::uint32_t, HwlatSample> open_;  ///< windows that have not ended, by CPU
};

/// The header of the kernel's tracer.
std::string hwlat_header();
/// A line as the kernel's tracer prints it.
std::string hwlat_line(const HwlatSample& sample);
/// Parses a line of the kernel's tracer; nothing if the line is no window.
std::optional<HwlatSample> parse_hwlat_line(std::string_view line);
void describe(Members& member, const HwlatSample& sample);

}  // namespace overdue
