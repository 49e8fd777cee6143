#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "bpf/span.h"

namespace overdue {

/// What is late: `-T 10ms,futex=1s,offcpu=50ms`. A bare time is for every span asked for, a name of
/// a span or a system call for that one.
struct Thresholds {
  std::optional<Duration> general;
  std::map<span_kind, Duration> by_span;
  std::map<std::uint32_t, Duration> by_call;  ///< native number; these are shown even if idle

  std::optional<Duration> of(span_kind span) const;
  std::optional<Duration> of_call(std::uint32_t nr) const;
  /// The shortest of all there are.
  Duration least() const;
};

/// Changes those that `list` names: `10ms,futex=1s`. Throws Error, and changes nothing then.
void change_thresholds(Thresholds& thresholds, std::string_view list);

/// As they were given: `10ms,futex=1s`.
std::string to_text(const Thresholds& thresholds);

/// Throws Error (exit status 2) for what is no threshold, with what would be.
Thresholds parse_thresholds(const std::vector<std::string>& values);

}  // namespace overdue
