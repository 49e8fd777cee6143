#pragma once

#include <string>
#include <vector>

#include "core/sink.h"
#include "sinks/csv_cells.h"
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
  void section(const SectionPtr& section) override;
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  class Rows;
  void write_header(std::vector<std::string> columns);

  Output& output_;
  SessionInfo info_;
  CsvCells cells_;
  std::vector<std::string> columns_;  ///< columns of the last header
  std::vector<SectionPtr> report_;
};

}  // namespace overdue
