#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace overdue {

/// A length of time; measured times are never negative.
using Duration = std::chrono::duration<std::uint64_t, std::nano>;

/// The kernel's own CLOCK_MONOTONIC, which `bpf_ktime_get_ns()` reads. In a time namespace,
/// clock_gettime(2) and std::chrono::steady_clock are ahead of it or behind it. The first use reads
/// /proc, so it must come before a sandbox. Any thread.
struct KernelClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<KernelClock>;
  static constexpr bool is_steady = true;
  static time_point now();
  /// now() as the records of the programs have it.
  static std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(now().time_since_epoch().count());
  }
  /// The lead of clock_gettime(2) in ns (time_namespaces(7)); 0 outside of time namespaces.
  static std::int64_t shift_ns();
};
using KernelTime = KernelClock::time_point;

/// KernelClock::shift_ns() from the text of /proc/PID/timens_offsets; 0 if the text lacks the line.
std::int64_t monotonic_shift_ns(std::string_view offsets);

/// A wall-clock instant with nanoseconds, for printing only.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

/// Parses `250us`, `10ms`, `1.5s`, `5m`, `2h`, `100ns`. Throws Error (with `what` naming the
/// option) for a bare number, an unknown unit, a negative value, or one beyond `KernelTime`'s range
/// (292 years).
Duration parse_duration(std::string_view text, std::string_view what);

/// Three significant digits and a unit: `830ns`, `1.24us`, `93.0ms`, `2.31s`, `5m12s`.
std::string format_duration(Duration duration);

/// A wall-clock instant as whole seconds, rounded down (before 1970 too), and the nanoseconds
/// since. Unlike std::chrono::floor, correct for every WallTime: a damaged file may have any value.
struct WallSeconds {
  std::int64_t seconds;
  std::uint32_t nanoseconds;
};
WallSeconds split_seconds(WallTime time);

/// RFC 3339 in UTC with microseconds: `2026-11-21T08:15:30.123456Z`.
std::string format_rfc3339(WallTime time);

}  // namespace overdue
