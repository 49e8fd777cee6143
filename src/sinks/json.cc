#include "sinks/json.h"

#include "base/error.h"
#include "core/session_members.h"
#include "sinks/json_members.h"

namespace overdue {
namespace {

Error not_a_stream(std::string_view what) {
  return Error("cannot write {} as one JSON object: it is a stream", what)
      .hint("use --format ndjson: one JSON object a line");
}

}  // namespace

void JsonSink::record(const Record& record) {
  throw not_a_stream(record.schema->name);
}

void JsonSink::section(const SectionPtr& section) {
  if (section->place() == Section::Place::line) throw not_a_stream(section->type());
  if (section->place() == Section::Place::report) report_.push_back(section);
}

void JsonSink::end(const SessionInfo& info, const Receipt& receipt) {
  JsonWriter json(output_, JsonWriter::Style::readable);
  JsonMembers member(json);
  json.begin_object(JsonWriter::Elements::below);
  describe(member, info);
  const ReportContext context{.info = info, .receipt = receipt};
  for (const SectionPtr& section : report_) section->members(member, context);
  member("receipt", receipt);
  json.end_object(JsonWriter::Elements::below);
  output_.append('\n');
  output_.flush();
}

}  // namespace overdue
