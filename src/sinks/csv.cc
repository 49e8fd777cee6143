#include "sinks/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/csv_finding.h"
#include "sinks/escape.h"

namespace overdue {
namespace {

std::vector<std::string> table_columns(const GroupBy& by) {
  std::vector<std::string> columns{"type", "start", "wall_ns"};
  if (by.process) columns.insert(columns.end(), {"pid", "process"});
  if (by.thread) columns.insert(columns.end(), {"tid", "thread"});
  if (by.container) columns.emplace_back("container");
  if (by.library) columns.emplace_back("library");
  if (by.caller) columns.emplace_back("caller");
  columns.insert(columns.end(), {"name", "id", "calls", "errors", "total_ns", "min_ns", "avg_ns",
                                 "p50_ns", "p95_ns", "p99_ns", "max_ns", "stddev_ns", "unreturned",
                                 "late", "untimed", "refused", "complete", "errnos"});
  return columns;
}

std::string errnos_text(const RowFigures& row) {
  std::string text;
  for (const auto& [name, count] : row.errnos)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, count);
  return text;
}

/// Cells of the group keys of a row, each after a comma. The cell of a key that the row lacks is
/// empty.
std::string group_cells(const RowFigures& row, const GroupBy& by) {
  std::string cells;
  Output output(cells);
  if (by.process) {
    output.append(',');
    if (row.process) output.append_number(std::uint64_t{row.process->pid});
    output.append(',');
    if (row.process) append_csv_field(output, row.process->comm);
  }
  if (by.thread) {
    output.append(',');
    if (row.thread) output.append_number(std::uint64_t{row.thread->tid});
    output.append(',');
    if (row.thread) append_csv_field(output, row.thread->comm);
  }
  const std::pair<bool, const std::optional<std::string>&> texts[] = {
      {by.container, row.container}, {by.library, row.library}, {by.caller, row.caller}};
  for (const auto& [is_key, text] : texts) {
    if (!is_key) continue;
    output.append(',');
    if (text) append_csv_field(output, *text);
  }
  output.flush();
  return cells;
}

}  // namespace

void CsvSink::write_header(std::vector<std::string> columns) {
  if (columns == columns_) return;
  columns_ = std::move(columns);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) output_.append(',');
    append_csv_field(output_, columns_[i]);
  }
  output_.append('\n');
}

void CsvSink::record(const Record& record) {
  cells_.clear();
  visit_record(record, info_.names, cells_);
  bool fits = !columns_.empty();
  for (std::size_t i = 0; i < cells_.size() && fits; ++i)
    fits = (i + 1 < columns_.size() && columns_[i + 1] == cells_.name(i)) ||
           std::ranges::find(columns_, cells_.name(i)) != columns_.end();
  if (!fits) {
    std::vector<std::string> columns{"type"};
    for (std::size_t i = 0; i < cells_.size(); ++i) columns.emplace_back(cells_.name(i));
    write_header(std::move(columns));
  }
  append_csv_field(output_, record.schema->name);
  for (std::size_t i = 1; i < columns_.size(); ++i) {
    output_.append(',');
    if (const auto* cell = cells_.find(columns_[i], i - 1))
      append_csv_field(output_, cell->value, cell->backslashes);
  }
  output_.append('\n');
}

void CsvSink::table(const LatencyTable& table, bool last) {
  if (last) {
    table_.emplace(table);
    return;
  }
  write_table(TableFigures(table), "interval", info_.wall(info_.start + intervals_), 0);
  intervals_ += table.wall;
  output_.flush();
}

void CsvSink::write_table(const TableFigures& table, std::string_view type, WallTime start,
                          std::uint64_t lost) {
  write_header(table_columns(table.by));
  const std::string begin = fmt::format("{},{},{}", type, format_rfc3339(start), table.wall_ns);
  for (const RowFigures& row : table.rows) {
    output_.append(begin);
    output_.append(group_cells(row, table.by));
    output_.append(',');
    append_csv_field(output_, row.name);
    output_.append(fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", row.id,
                               row.calls, row.errors, row.total_ns, row.min_ns, row.avg_ns,
                               row.p50.value_ns, row.p95.value_ns, row.p99.value_ns, row.max_ns,
                               row.stddev_ns, row.unreturned, row.late, row.untimed, row.refused,
                               row.complete(lost)));
    append_csv_field(output_, errnos_text(row));
    output_.append('\n');
  }
}

void CsvSink::names(const std::vector<FoundName>& names) {
  const bool with_callers = !names.empty() && names.front().caller;
  write_header(with_callers ? std::vector<std::string>{"name", "library", "caller"}
                            : std::vector<std::string>{"name"});
  for (const FoundName& found : names) {
    append_csv_field(output_, found.name);
    if (found.caller) {
      output_.append(',');
      append_csv_field(output_, found.caller->library);
      output_.append(',');
      append_csv_field(output_, found.caller->function);
    }
    output_.append('\n');
  }
}

void CsvSink::finding(const Finding& finding) {
  write_header(finding_columns());
  append_finding_row(output_, finding, info_);
}

void CsvSink::end(const SessionInfo& info, const Receipt& receipt) {
  if (table_) write_table(*table_, "total", info.start_wall, receipt.lost());
  for (const OpenSpan& span : table_ ? table_->unfinished : oldest_first(unfinished_))
    output_.append(fmt::format("# unfinished: {} tid={} comm={} age_ns={}{}\n",
                               printable(span.name), span.tid, printable(span.comm), span.age_ns,
                               span.older ? " older" : ""));
  output_.append(fmt::format("# start: {}\n# start_ns: {}\n", format_rfc3339(info.start_wall),
                             info.start.time_since_epoch().count()));
  for (const std::string& note : info.notes)
    output_.append(fmt::format("# note: {}\n", printable(note)));
  output_.append(fmt::format("# events: {}\n# lost: {}\n", receipt.events, receipt.lost()));
  for (const auto& [reason, count] : receipt.lost_by)
    output_.append(fmt::format("# lost, {}: {}\n", printable(reason), count));
  output_.append(fmt::format("# unmatched: {}\n# cut: {}\n# probe_runs: {}\n", receipt.unmatched,
                             receipt.cut, receipt.probe_runs));
  if (receipt.refused > 0) output_.append(fmt::format("# refused: {}\n", receipt.refused));
  const auto known = [this](std::string_view name, std::optional<std::uint64_t> value) {
    if (value) output_.append(fmt::format("# {}: {}\n", name, *value));
  };
  known("probe_ns", receipt.probe_ns);
  known("probe_error_ns", receipt.probe_error_ns);
  known("probe_target_ns", receipt.probe_target_ns);
  known("target_cpu_ns", receipt.target_cpu_ns);
  if (const auto ratio = receipt.overhead_ratio())
    output_.append(fmt::format("# overhead_ratio: {:.6g}\n", *ratio));
  known("own_cpu_ns", receipt.own.cpu_ns);
  known("own_memory_bytes", receipt.own.memory_bytes);
  known("bpf_bytes", receipt.own.bpf_bytes);
  output_.flush();
}

}  // namespace overdue
