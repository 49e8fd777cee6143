#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/figures.h"
#include "sinks/output.h"
#include "sinks/text_record.h"

namespace overdue {

/// For people: aligned tables, lines like strace's, names one a line; the receipt below. Colour
/// dims headers, reddens rows with errors, and has what to look at first in bold; nothing else.
class TextSink : public Sink {
 public:
  TextSink(Output& output, bool color, bool whole_stacks = false)
      : output_(output), records_(output), color_(color), whole_stacks_(whole_stacks) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  /// Held until the end where it is the last: marks need the receipt.
  void table(const LatencyTable& table, bool last) override;
  void unfinished(const std::vector<OpenSpan>& spans) override;
  void finding(const Finding& finding) override;
  void more_like(const Repeats& repeats) override;
  /// As the kernel prints it.
  void window(const LatencyWindow& window) override;
  /// Names alone are for scripts: no header, and the receipt behind "# ".
  void names(const std::vector<FoundName>& names) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void write_header(const SessionInfo& info, bool with_duration);

  Output& output_;
  TextRecords records_;
  bool color_;
  bool whole_stacks_;  ///< of findings
  std::uint64_t findings_ = 0;
  bool more_ = false;  ///< more_like() has come
  SessionInfo info_;
  bool header_written_ = false;
  bool names_only_ = false;
  Duration intervals_{};  ///< length of those written: the next begins here
  std::optional<TableFigures> table_;
};

}  // namespace overdue
