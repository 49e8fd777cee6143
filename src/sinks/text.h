#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/live_table.h"
#include "sinks/make_sink.h"
#include "sinks/output.h"
#include "sinks/text_record.h"

namespace overdue {

/// Output for people: lines like strace's, and the texts of the sections; the receipt below. Color
/// dims headers, makes rows with errors red, marks the parts of findings, and makes bold what to
/// look at first; nothing else. On a terminal, figures since the start are drawn over themselves.
class TextSink : public Sink {
 public:
  TextSink(Output& output, const SinkOptions& options);

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  void section(const SectionPtr& section) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  ReportContext context(const SessionInfo& info, const Receipt& receipt) const;
  void write_header(const SessionInfo& info, bool with_duration);
  void write(std::string_view text);
  /// Separates what follows by one empty line.
  void separate();
  void write_paragraph(const Section& section, const ReportContext& context);

  Output& output_;
  SinkOptions options_;
  TextRecords records_;
  SessionInfo info_;
  std::optional<LiveTable> live_;
  bool has_header_ = false;
  bool has_lines_ = false;
  bool is_separated_ = true;  ///< nothing is written yet, or an empty line was written last
  std::string last_type_;     ///< of the last section
  std::vector<SectionPtr> report_;
};

}  // namespace overdue
