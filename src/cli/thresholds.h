#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bpf/span.h"

namespace overdue {

/// What is late: `-T 10ms,futex=1s,offcpu=50ms,thread:dw-*=1ms`. Of those that hold for a span, the
/// most special counts: that of the call or of the user's own span, then that of the thread (of
/// several, the first), of the kind, and the bare time.
struct Thresholds {
  std::optional<Duration> general;
  std::map<span_kind, Duration> by_span;
  std::map<std::uint32_t, Duration> by_call;  ///< native number; these are shown even if idle
  std::map<std::string, Duration> by_pair;    ///< by name of the user's own span
  std::vector<std::pair<std::string, Duration>> by_thread;  ///< by glob of thread names, in order

  std::optional<Duration> of(span_kind span) const;
  std::optional<Duration> of_call(std::uint32_t nr) const;
  /// Of a kind that threads live through, in a thread called `comm`.
  std::optional<Duration> of_thread(span_kind span, std::string_view comm) const;
  /// The shortest that a span of this kind may have by its kind or its thread: from there on the
  /// kernel looks at whose it is.
  std::optional<Duration> least_of(span_kind span) const;
  /// The shortest of all that hold for one of `kinds`.
  Duration least(const std::vector<span_kind>& kinds) const;

  /// Throws Error (exit status 2) where one of `kinds`, or of the user's own spans `pairs`, has
  /// none, or one is for a kind that is not among them.
  void check(const std::vector<span_kind>& kinds, const std::vector<std::string>& pairs = {}) const;
};

/// Changes those that `list` names: `10ms,futex=1s`. Throws Error, and changes nothing then.
void change_thresholds(Thresholds& thresholds, std::string_view list,
                       const std::vector<std::string>& pairs);

/// As they were given: `10ms,futex=1s`.
std::string to_text(const Thresholds& thresholds);

/// `pairs`: what the user's own spans are called. Throws Error (exit status 2) for what is no
/// threshold, with what would be.
Thresholds parse_thresholds(const std::vector<std::string>& values,
                            const std::vector<std::string>& pairs = {});

}  // namespace overdue
