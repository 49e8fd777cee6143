#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/figures.h"
#include "sinks/output.h"

namespace overdue {

/// One JSON object a line, `"type"` first:
///   a record     its schema's name ("call"), then its fields
///   "interval"   one line per interval: "start", "end", then as in the report
///   "stall", "hang", "more"   one line per finding; one per cause of findings not shown
///   "worst"      one line per window
///   "name"       one line per name
///   "report"     once: the session, with the final table or the unfinished spans, if any
///   "receipt"    the last line
/// The loss in an interval is unknown when its line is written. "complete" there is about the known
/// gaps (calls counted but not timed); the receipt is about the whole session.
class NdjsonSink : public Sink {
 public:
  explicit NdjsonSink(Output& output) : output_(output) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  void table(const LatencyTable& table, bool last) override;
  void unfinished(const std::vector<OpenSpan>& spans) override { unfinished_ = spans; }
  void finding(const Finding& finding) override;
  void more_like(const Repeats& repeats) override;
  void window(const LatencyWindow& window) override;
  void names(const std::vector<FoundName>& names) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  Output& output_;
  SessionInfo info_;
  Duration intervals_{};  ///< total length of the written intervals: begin of the next
  std::optional<TableFigures> table_;
  std::optional<std::vector<OpenSpan>> unfinished_;
};

}  // namespace overdue
