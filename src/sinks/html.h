#pragma once

#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

/// A page for people that stands alone: no connection, no other file, no script but its own. What
/// sections describe is laid out in the order in which they describe it; lines (findings,
/// intervals) come before. Names are hostile. Records have no place on a page and throw Error.
class HtmlSink : public Sink {
 public:
  explicit HtmlSink(Output& output) : output_(output) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  void section(const SectionPtr& section) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  /// The page up to its first part.
  void write_begin(const SessionInfo& info, bool with_duration);

  Output& output_;
  SessionInfo info_;
  bool has_begun_ = false;
  bool has_lines_ = false;
  std::vector<SectionPtr> report_;
};

}  // namespace overdue
