#include "cli/report_envelope.h"

#include "sinks/report_json.h"

namespace overdue {

void write_json_report(Output& output, const SessionInfo& info, const Receipt& receipt,
                       const WriteMembers& members) {
  JsonWriter json(output, JsonWriter::Style::readable);
  json.begin_object(JsonWriter::Elements::below);
  write_session(json, info);
  members(json);
  json.key("receipt");
  json.begin_object();
  write_receipt(json, receipt);
  json.end_object();
  json.end_object(JsonWriter::Elements::below);
  output.append('\n');
}

void write_last_lines(Output& output, const SessionInfo& info, const Receipt& receipt,
                      const WriteMembers& members) {
  JsonWriter report(output, JsonWriter::Style::one_line);
  report.begin_object();
  report.member("type", "report");
  write_session(report, info);
  members(report);
  report.end_object();
  output.append('\n');
  JsonWriter last(output, JsonWriter::Style::one_line);
  last.begin_object();
  last.member("type", "receipt");
  write_receipt(last, receipt);
  last.end_object();
  output.append('\n');
}

}  // namespace overdue
