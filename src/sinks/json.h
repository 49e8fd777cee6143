#pragma once

#include <vector>

#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

/// One JSON object per session, written at the session's end. A stream (records, lines) has no
/// place in the object and throws Error, because to drop it would be silent loss. NdjsonSink takes
/// streams.
class JsonSink : public Sink {
 public:
  explicit JsonSink(Output& output) : output_(output) {}

  void record(const Record& record) override;
  void section(const SectionPtr& section) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  Output& output_;
  std::vector<SectionPtr> report_;
};

}  // namespace overdue
