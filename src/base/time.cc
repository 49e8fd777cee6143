#include "base/time.h"

#include <time.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

struct TimeUnit {
  std::string_view name;
  double nanoseconds;
};
constexpr std::array time_units{TimeUnit{"ns", 1},    TimeUnit{"us", 1e3}, TimeUnit{"ms", 1e6},
                                TimeUnit{"s", 1e9},   TimeUnit{"m", 60e9}, TimeUnit{"h", 3600e9},
                                TimeUnit{"min", 60e9}};

Error bad_duration(std::string_view text, std::string_view what, std::string_view why) {
  return Error("bad time '{}' for {}: {}", printable(text), what, why)
      .hint("give a number with a unit: 250us, 10ms, 2s, 5m")
      .exit_status(2);
}

}  // namespace

std::int64_t monotonic_shift_ns(std::string_view offsets) {
  for (const std::string_view line : split(offsets, '\n')) {
    long long seconds = 0, nanoseconds = 0;
    const std::string text(line);
    if (std::sscanf(text.c_str(), "monotonic %lld %lld", &seconds, &nanoseconds) == 2)
      return seconds * 1'000'000'000 + nanoseconds;
  }
  return 0;
}

std::int64_t KernelClock::shift_ns() {
  static const std::int64_t shift =
      monotonic_shift_ns(read_text("/proc/self/timens_offsets").value_or(""));
  return shift;
}

KernelTime KernelClock::now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return KernelTime(Duration(static_cast<std::uint64_t>(now.tv_sec * std::int64_t{1'000'000'000} +
                                                        now.tv_nsec - shift_ns())));
}

Duration parse_duration(std::string_view text, std::string_view what) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number))
    throw bad_duration(text, what, "not a number");
  if (number < 0) throw bad_duration(text, what, "negative");
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty()) throw bad_duration(text, what, "no unit");
  for (const TimeUnit& known : time_units) {
    if (unit != known.name) continue;
    const double nanoseconds = number * known.nanoseconds;
    if (nanoseconds > 9.2e18) throw bad_duration(text, what, "longer than 292 years");
    return Duration(static_cast<std::uint64_t>(std::llround(nanoseconds)));
  }
  throw bad_duration(text, what, "unknown unit");
}

std::string format_duration(Duration duration) {
  const std::uint64_t ns = duration.count();
  if (ns < 1000) return fmt::format("{}ns", ns);
  // In integers, since rounding may carry into a fourth digit (9.996 -> 10.0) or the next unit, and
  // since reports and streams of calls call this function for every figure.
  if (ns < 99'950'000'000) {
    for (const auto& [unit, length] :
         {std::pair{"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}) {
      const auto unit_ns = static_cast<std::uint64_t>(length);
      for (const auto& [scale, decimals] : {std::pair{100u, 2u}, {10u, 1u}, {1u, 0u}}) {
        const std::uint64_t scaled = (ns * scale + unit_ns / 2) / unit_ns;
        if (scaled >= 1000) continue;
        std::string text = fmt::format_int(scaled).str();
        if (decimals > 0) text.insert(text.size() - decimals, 1, '.');
        return text += unit;
      }
    }
  }
  // Rounded without an addition that could overflow.
  const std::uint64_t seconds = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000 ? 1 : 0);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  const std::uint64_t minutes = (seconds + 30) / 60;
  return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
}

WallSeconds split_seconds(WallTime time) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t ns = time.time_since_epoch().count();
  const bool below = ns % second < 0;
  return {ns / second - below, static_cast<std::uint32_t>(ns % second + (below ? second : 0))};
}

std::string format_rfc3339(WallTime time) {
  const auto [seconds, nanoseconds] = split_seconds(time);
  const std::time_t second = seconds;
  std::tm utc{};
  gmtime_r(&second, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     nanoseconds / 1000);
}

}  // namespace overdue
