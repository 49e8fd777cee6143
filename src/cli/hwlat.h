#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/timer_cause.h"
#include "bpf/osnoise.h"
#include "core/session_info.h"
#include "sinks/json_writer.h"

namespace overdue {

/// A window in which something latency-like came from no software, as the kernel's hwlat tracer
/// tells of it.
struct HwlatSample {
  std::uint64_t number = 0;  ///< counts them from 1
  std::uint32_t cpu = 0;
  std::uint32_t tid = 0;  ///< of the thread that looked
  std::string comm{};
  std::string flags{};         ///< of the trace line
  std::uint64_t time_ns = 0;   ///< when the window ended
  std::uint64_t inner_ns = 0;  ///< the longest between the two looks of a pair
  std::uint64_t outer_ns = 0;  ///< the longest from one pair to the next
  WallTime first{};            ///< when the first of them began
  std::uint64_t count = 0;     ///< of them, at least as long as the threshold
  std::uint64_t nmi_total_ns = 0;
  std::uint64_t nmi_count = 0;
};

/// Puts together windows from the pauses of busy threads, less what is known to be somebody's: a
/// pause in which a thread ran is left out, and of others the interrupts. NMIs count, as with the
/// kernel's tracer, and are told of.
class HwlatWindows {
 public:
  explicit HwlatWindows(std::uint64_t threshold_ns) : threshold_ns_(threshold_ns) {}

  void add(const osnoise_gap& gap, const TimerCause& cause, const SessionInfo& info);
  /// The end of a window of a CPU; nothing where none was long enough.
  std::optional<HwlatSample> end(const osnoise_sample& sample);
  /// Pauses that were as long as the threshold, and somebody's.
  std::uint64_t explained() const { return explained_; }

 private:
  std::uint64_t threshold_ns_;
  std::uint64_t found_ = 0, explained_ = 0;
  std::map<std::uint32_t, HwlatSample> open_;  ///< of CPUs: the window that has not ended
};

/// The tracer's header.
std::string hwlat_header();
/// A line of its trace.
std::string hwlat_line(const HwlatSample& sample);
/// One that the kernel's tracer has written; nothing where it is none.
std::optional<HwlatSample> parse_hwlat_line(std::string_view line);
/// Members of an object.
void write_hwlat_sample(JsonWriter& json, const HwlatSample& sample);

}  // namespace overdue
