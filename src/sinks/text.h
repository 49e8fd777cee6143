#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/figures.h"
#include "sinks/make_sink.h"
#include "sinks/output.h"
#include "sinks/text_record.h"

namespace overdue {

/// Output for people: aligned tables, lines like strace's, one name per line; the receipt below.
/// Color dims headers, makes rows with errors red, marks the parts of findings, and makes bold what
/// to look at first; nothing else.
class TextSink : public Sink {
 public:
  TextSink(Output& output, const SinkOptions& options)
      : output_(output),
        records_(output),
        color_(options.color),
        whole_stacks_(options.whole_stacks),
        width_(options.width) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  /// Holds the last table until the end: its marks need the receipt.
  void table(const LatencyTable& table, bool last) override;
  void unfinished(const std::vector<OpenSpan>& spans) override;
  void finding(const Finding& finding) override;
  void more_like(const Repeats& repeats) override;
  /// Writes the window in the kernel's format.
  void window(const LatencyWindow& window) override;
  /// Names alone are for scripts: there is no header, and the lines of the receipt begin with "# ".
  void names(const std::vector<FoundName>& names) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void write_header(const SessionInfo& info, bool with_duration);

  Output& output_;
  TextRecords records_;
  bool color_;
  bool whole_stacks_;  ///< in findings
  std::size_t width_;
  std::uint64_t findings_ = 0;
  std::uint64_t threshold_ns_ = 0;  ///< of the last finding; not printed again if equal
  bool more_ = false;               ///< more_like() has come
  SessionInfo info_;
  bool header_written_ = false;
  bool names_only_ = false;
  Duration intervals_{};  ///< total length of the written intervals: begin of the next
  std::optional<TableFigures> table_;
};

}  // namespace overdue
