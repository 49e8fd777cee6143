#pragma once

#include "core/sink.h"
#include "sinks/flat_members.h"
#include "sinks/output.h"

namespace overdue {

/// Reports as `key=value`, a line for each section: "type=stall name=fsync latency_ns=2310000000".
class LogfmtSink final : public Sink {
 public:
  explicit LogfmtSink(Output& output) : output_(output) {}
  void begin(const SessionInfo& info) override { info_ = info; }
  void section(const SectionPtr& section) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  Output& output_;
  SessionInfo info_;
  std::vector<SectionPtr> report_;  ///< sections of the report: they need the receipt
};

}  // namespace overdue
