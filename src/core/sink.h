#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/latency_table.h"
#include "core/latency_window.h"
#include "core/record.h"
#include "core/session_info.h"

namespace overdue {

/// A call that --discover found, and its caller if asked for.
struct FoundName {
  std::string name;
  std::optional<CallerName> caller{};
  auto operator<=>(const FoundName&) const = default;
};

/// The receiver of measurements. The calls of a session come from one thread, in this order: begin,
/// then records (in time order) and tables (one per interval, one at the end) in any mix, then end.
/// A sink is given the stream or descriptor to write to; it never opens a path.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin(const SessionInfo&) {}
  virtual void record(const Record&) {}
  /// `last` is false for an interval of a running session.
  virtual void table(const LatencyTable&, bool last) { (void)last; }
  /// Open spans at the end of a session that has no table for them.
  virtual void unfinished(const std::vector<OpenSpan>&) {}
  /// One late operation, explained.
  virtual void finding(const Finding&) {}
  /// The number of findings that were not shown.
  virtual void more_like(const Repeats&) {}
  /// One of the longest latencies, when it is found.
  virtual void window(const LatencyWindow&) {}
  /// The longest latencies, longest first; the result of `worst`.
  virtual void windows(const std::vector<LatencyWindow>& longest) {
    for (const LatencyWindow& one : longest) window(one);
  }
  /// The result of `--discover`: names only.
  virtual void names(const std::vector<FoundName>&) {}
  /// Pure: no sink may forget the receipt.
  virtual void end(const SessionInfo&, const Receipt&) = 0;
};

}  // namespace overdue
