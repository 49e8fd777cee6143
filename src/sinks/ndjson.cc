#include "sinks/ndjson.h"

#include "sinks/escape.h"
#include "sinks/finding_json.h"
#include "sinks/json_writer.h"
#include "sinks/report_json.h"
#include "sinks/window_json.h"

namespace overdue {
namespace {

/// Writes fields as they come; this path runs once per recorded call and allocates nothing.
class RecordLine : public FieldVisitor {
 public:
  explicit RecordLine(Output& output) : output_(output) {}

  void number(std::string_view name, std::uint64_t value, Unit) override {
    append_json_key(output_, name);
    output_.append_number(value);
  }
  void result(std::string_view name, std::int64_t value, std::string_view) override {
    append_json_key(output_, name);
    output_.append_number(value);
  }
  void text(std::string_view name, std::string_view value) override {
    append_json_key(output_, name);
    append_json_string(output_, value);
  }
  void list(std::string_view name, std::span<const std::string_view> values) override {
    append_json_key(output_, name);
    char separator = '[';
    for (const std::string_view value : values) {
      output_.append(separator);
      append_json_string(output_, value);
      separator = ',';
    }
    if (values.empty()) output_.append('[');
    output_.append(']');
  }

 private:
  Output& output_;
};

/// One line: an object whose first member is its type.
class Line {
 public:
  Line(Output& output, std::string_view type)
      : output_(output), json_(output, JsonWriter::Style::one_line) {
    json_.begin_object();
    json_.member("type", type);
  }
  JsonWriter& json() { return json_; }
  void finish() {
    json_.end_object();
    output_.append('\n');
  }

 private:
  Output& output_;
  JsonWriter json_;
};

}  // namespace

void NdjsonSink::record(const Record& record) {
  output_.append("{\"type\":");
  append_json_string(output_, record.schema->name);
  RecordLine line(output_);
  visit_record(record, info_.names, line);
  output_.append("}\n");
}

void NdjsonSink::table(const LatencyTable& table, bool last) {
  if (last) {
    table_.emplace(table);
    return;
  }
  Line line(output_, "interval");
  line.json().member("start", format_rfc3339(info_.wall(info_.start + intervals_)));
  intervals_ += table.wall;
  line.json().member("end", format_rfc3339(info_.wall(info_.start + intervals_)));
  write_table(line.json(), TableFigures(table), 0);
  line.finish();
  output_.flush();
}

void NdjsonSink::finding(const Finding& finding) {
  Line line(output_, finding.type);
  write_finding(line.json(), finding);
  line.finish();
}

void NdjsonSink::more_like(const Repeats& repeats) {
  Line line(output_, "more");
  line.json().member("like", repeats.number);
  line.json().member("name", repeats.name);
  line.json().member("count", repeats.count);
  line.json().member("latency_ns", repeats.latency_ns);
  line.json().member("longest_ns", repeats.longest_ns);
  line.finish();
}

void NdjsonSink::window(const LatencyWindow& window) {
  Line line(output_, "worst");
  write_window(line.json(), window);
  line.finish();
}

void NdjsonSink::names(const std::vector<FoundName>& names) {
  for (const FoundName& found : names) {
    Line line(output_, "name");
    write_found(line.json(), found);
    line.finish();
  }
}

void NdjsonSink::end(const SessionInfo& info, const Receipt& receipt) {
  Line report(output_, "report");
  write_session(report.json(), info);
  if (table_)
    write_table(report.json(), *table_, receipt.lost());
  else if (unfinished_)
    write_unfinished(report.json(), oldest_first(*unfinished_));
  report.finish();
  Line last(output_, "receipt");
  write_receipt(last.json(), receipt);
  last.finish();
  output_.flush();
}

}  // namespace overdue
