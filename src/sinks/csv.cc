#include "sinks/csv.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "sinks/escape.h"
#include "sinks/flat_members.h"

namespace overdue {
namespace {

/// The cells of a row: the members of its description.
class CellMembers final : public FlatMembers {
 public:
  std::vector<std::string> keys;
  std::vector<std::string> values;  ///< as in CSV

 private:
  void put_text(std::string_view key, std::string_view value, const About& about) override {
    std::string field;
    Output output(field);
    append_csv_field(output, value, about.is_escaped ? Backslashes::kept : Backslashes::doubled);
    output.flush();
    put_value(key, field);
  }
  void put_value(std::string_view key, std::string_view value) override {
    keys.emplace_back(key);
    values.emplace_back(value);
  }
};

}  // namespace

/// Writes the rows of a section.
class CsvSink::Rows final : public CsvRows {
 public:
  explicit Rows(CsvSink& sink) : sink_(sink) {}
  void row(const std::function<void(Members&)>& describe_cells) override {
    CellMembers cells;
    describe_cells(cells);
    sink_.write_header(std::move(cells.keys));
    sink_.output_.append(fmt::format("{}\n", fmt::join(cells.values, ",")));
  }
  void header(const std::function<void(Members&)>& describe_cells) override {
    CellMembers cells;
    describe_cells(cells);
    sink_.write_header(std::move(cells.keys));
  }
  void remark(std::string_view text) override { sink_.output_.append(fmt::format("# {}\n", text)); }

 private:
  CsvSink& sink_;
};

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

void CsvSink::section(const SectionPtr& section) {
  if (section->place() == Section::Place::text) return;
  if (section->place() == Section::Place::report) {
    report_.push_back(section);
    return;
  }
  static const Receipt none;
  Rows rows(*this);
  section->rows(rows, {.info = info_, .receipt = none});
  // The next interval comes a while later. Other lines wait for the listener's tick.
  if (section->type() == "interval") output_.flush();
}

void CsvSink::end(const SessionInfo& info, const Receipt& receipt) {
  Rows rows(*this);
  for (const SectionPtr& section : report_) section->rows(rows, {.info = info, .receipt = receipt});
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
