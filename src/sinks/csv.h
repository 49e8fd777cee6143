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

/// Comma-separated values, one record or table row a line, after a header line whose first field is
/// "type": the record's schema ("call"), "interval" or "total". Where later lines have other
/// columns, a new header stands in front of them. Text is as printable() makes it, quoted where RFC
/// 4180 asks for it. What has no column (what is unfinished, the notes, the receipt) follows as
/// lines that begin with "# ".
class CsvSink : public Sink {
 public:
  explicit CsvSink(Output& output) : output_(output) {}

  void begin(const SessionInfo& info) override { info_ = info; }
  void record(const Record& record) override;
  void table(const LatencyTable& table, bool last) override;
  void unfinished(const std::vector<OpenSpan>& spans) override { unfinished_ = spans; }
  void names(const std::vector<FoundName>& names) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void write_header(std::vector<std::string> columns);
  void write_table(const TableFigures& table, std::string_view type, WallTime start,
                   std::uint64_t lost);

  Output& output_;
  SessionInfo info_;
  CsvCells cells_;
  std::vector<std::string> columns_;  ///< of the header written last, "type" first
  Duration intervals_{};              ///< length of those written: the next begins here
  std::optional<TableFigures> table_;
  std::vector<OpenSpan> unfinished_;  ///< where there is no table
};

}  // namespace overdue
