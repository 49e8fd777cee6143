#include "sinks/ndjson.h"

#include "core/session_members.h"
#include "sinks/escape.h"
#include "sinks/json_members.h"

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

/// Writes one line: an object whose first member is its type.
template <typename F>
void write_line(Output& output, std::string_view type, const F& describe_members) {
  JsonWriter json(output, JsonWriter::Style::one_line);
  JsonMembers member(json);
  json.begin_object();
  json.member("type", type);
  describe_members(member);
  json.end_object();
  output.append('\n');
}

}  // namespace

void NdjsonSink::record(const Record& record) {
  has_lines_ = true;
  output_.append("{\"type\":");
  append_json_string(output_, record.schema->name);
  RecordLine line(output_);
  visit_record(record, info_.names, line);
  output_.append("}\n");
}

void NdjsonSink::section(const SectionPtr& section) {
  if (section->place() == Section::Place::text) return;
  if (section->place() == Section::Place::report) {
    report_.push_back(section);
    return;
  }
  has_lines_ = true;
  static const Receipt none;
  const ReportContext context{.info = info_, .receipt = none};
  write_line(output_, section->type(), [&](Members& member) { section->members(member, context); });
  // The next interval comes a while later. Other lines wait for the listener's tick.
  if (section->type() == "interval") output_.flush();
}

void NdjsonSink::end(const SessionInfo& info, const Receipt& receipt) {
  ReportContext context{.info = info, .receipt = receipt, .has_lines = has_lines_};
  for (const SectionPtr& section : report_)
    for (const SectionPtr& line : section->lines()) {
      write_line(output_, line->type(), [&](Members& member) { line->members(member, context); });
    }
  context.has_lines = true;
  write_line(output_, "report", [&](Members& member) {
    describe(member, info);
    for (const SectionPtr& section : report_) section->members(member, context);
  });
  write_line(output_, "receipt", [&](Members& member) { describe(member, receipt); });
  output_.flush();
}

}  // namespace overdue
