#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/figures.h"
#include "sinks/output.h"

namespace overdue {

/// One JSON object per session, written at the session's end. A stream (records, intervals) has no
/// place in the object and throws Error, because to drop it would be silent loss. NdjsonSink takes
/// streams.
class JsonSink : public Sink {
 public:
  explicit JsonSink(Output& output) : output_(output) {}

  void record(const Record& record) override;
  void table(const LatencyTable& table, bool last) override;
  void unfinished(const std::vector<OpenSpan>& spans) override;
  void names(const std::vector<FoundName>& names) override;
  void windows(const std::vector<LatencyWindow>& longest) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  Output& output_;
  std::optional<TableFigures> table_;
  std::optional<std::vector<FoundName>> names_;
  std::optional<std::vector<LatencyWindow>> windows_;
};

}  // namespace overdue
