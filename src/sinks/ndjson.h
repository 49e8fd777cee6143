#pragma once

#include <vector>

#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

/// One JSON object a line, `"type"` first:
///   a record     its schema's name ("call"), then its fields
///   a line       a section of the session: "interval", "stall", "more", "worst", "name"
///   "report"     once: the session, and the members of the sections of the report
///   "receipt"    the last line
/// The loss in an interval is unknown when its line is written. "complete" there is about the known
/// gaps (calls counted but not timed); the receipt is about the whole session.
class NdjsonSink : public Sink {
 public:
  explicit NdjsonSink(Output& output) : output_(output) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  void section(const SectionPtr& section) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  Output& output_;
  SessionInfo info_;
  bool has_lines_ = false;
  std::vector<SectionPtr> report_;
};

}  // namespace overdue
