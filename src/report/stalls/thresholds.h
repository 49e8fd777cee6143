#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bpf/span.h"
#include "report/stalls/percentile.h"

namespace overdue {

/// The thresholds of -T that are percentiles. None of them has a time too.
struct Percentiles {
  std::optional<Percentile> general{};
  std::map<span_kind, Percentile> by_span{};
  std::map<std::uint32_t, Percentile> by_call{};
  std::map<std::string, Percentile> by_pair{};

  bool operator==(const Percentiles&) const = default;
  bool empty() const { return !general && by_span.empty() && by_call.empty() && by_pair.empty(); }
};

/// The thresholds of `-T 10ms,futex=1s,offcpu=50ms,thread:dw-*=1ms`. If several apply to a span,
/// the most specific counts: that of the call or the user span, then that of the thread (of
/// several, the first), then that of the kind, then the bare value. A threshold that is a
/// percentile is no time: the functions for times return nothing where it applies.
struct Thresholds {
  std::optional<Duration> general{};
  std::map<span_kind, Duration> by_span{};
  std::map<std::uint32_t, Duration> by_call{};  ///< by native number; shown even if idle
  std::map<std::string, Duration> by_pair{};    ///< by name of the user span
  std::vector<std::pair<std::string, Duration>> by_thread{};  ///< by glob of thread names, in order
  Percentiles percentiles{};

  bool operator==(const Thresholds&) const = default;

  std::optional<Duration> of(span_kind span) const;
  std::optional<Duration> of_call(std::uint32_t nr) const;
  std::optional<Percentile> percentile_of(span_kind span) const;
  std::optional<Percentile> percentile_of_call(std::uint32_t nr) const;
  std::optional<Percentile> percentile_of_pair(const std::string& name) const;
  /// Whether a threshold of `span`, or of one of its calls or user spans, is a percentile.
  bool has_percentile(span_kind span) const;
  /// The threshold for a span of this kind in a thread named `comm`.
  std::optional<Duration> of_thread(span_kind span, std::string_view comm) const;
  /// The shortest threshold that a span of this kind can have by its kind or its thread: from this
  /// latency on, the kernel looks at the name of the thread.
  std::optional<Duration> least_of(span_kind span) const;
  /// Whether no span is too short: all thresholds are 1 ns, and each of `kinds` has one.
  bool are_of_every_span(const std::vector<span_kind>& kinds) const;
  /// The shortest of all thresholds that apply to one of `kinds`.
  Duration least(const std::vector<span_kind>& kinds) const;

  /// Throws Error (exit status 2) if one of `kinds`, or of the user spans `pairs`, has no
  /// threshold, if a threshold is for a kind that is not among `kinds`, or if a percentile and the
  /// thresholds of threads are for the same kind.
  void check(const std::vector<span_kind>& kinds, const std::vector<std::string>& pairs = {}) const;
  /// Throws Error (exit status 2) if a threshold is a percentile: only `stalls` chooses them.
  void check_times() const;
};

/// Changes the thresholds in `list`: `10ms,futex=1s`. Throws Error, and then changes nothing.
void change_thresholds(Thresholds& thresholds, std::string_view list,
                       const std::vector<std::string>& pairs);

/// Throws Error (exit status 2) if `asked` would show spans of `kinds` that a session with
/// `recorded` left out. The message says from which latency on the session has such spans.
void check_narrower(const Thresholds& asked, const Thresholds& recorded,
                    const std::vector<span_kind>& kinds);

/// The thresholds as a value of -T: `10.0ms,futex=1.00s`, `p99,futex=1.00s`.
std::string to_text(const Thresholds& thresholds);

/// Parses values of -T. `pairs`: names of the user spans. Throws Error (exit status 2) for an
/// invalid threshold, with a hint.
Thresholds parse_thresholds(const std::vector<std::string>& values,
                            const std::vector<std::string>& pairs = {});

}  // namespace overdue
