#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sink.h"
#include "sinks/csv_cells.h"
#include "sinks/figures.h"
#include "sinks/output.h"

namespace overdue {

/// Comma-separated values: one record, finding or table row per line, after a header line. The
/// first field is "type": the record's schema ("call"), the finding's type ("stall"), "interval" or
/// "total". Lines with other columns follow a header of their own. Text is made printable(), and
/// quoted if RFC 4180 requires it. Everything without a column (unfinished spans, notes, the
/// receipt) follows in lines that begin with "# ".
class CsvSink : public Sink {
 public:
  explicit CsvSink(Output& output) : output_(output) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  void table(const LatencyTable& table, bool last) override;
  void unfinished(const std::vector<OpenSpan>& spans) override { unfinished_ = spans; }
  void finding(const Finding& finding) override;
  void names(const std::vector<FoundName>& names) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void write_header(std::vector<std::string> columns);
  void write_table(const TableFigures& table, std::string_view type, WallTime start,
                   std::uint64_t lost);

  Output& output_;
  SessionInfo info_;
  CsvCells cells_;
  std::vector<std::string> columns_;  ///< columns of the last header, "type" first
  Duration intervals_{};              ///< total length of the written intervals: begin of the next
  std::optional<TableFigures> table_;
  std::vector<OpenSpan> unfinished_;  ///< open spans of a session without a table
};

}  // namespace overdue
