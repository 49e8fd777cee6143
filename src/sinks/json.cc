#include "sinks/json.h"

#include "base/error.h"
#include "sinks/json_writer.h"
#include "sinks/report_json.h"
#include "sinks/window_json.h"

namespace overdue {
namespace {

using Elements = JsonWriter::Elements;

Error not_a_stream(std::string_view what) {
  return Error("cannot write {} as one JSON object: it is a stream", what)
      .hint("use --format ndjson: one JSON object a line");
}

}  // namespace

void JsonSink::record(const Record& record) {
  throw not_a_stream(record.schema->name);
}

void JsonSink::table(const LatencyTable& table, bool last) {
  if (!last) throw not_a_stream("intervals");
  table_.emplace(table);
}

void JsonSink::unfinished(const std::vector<OpenSpan>&) {
  throw not_a_stream("calls");  // open spans follow a stream of calls
}

void JsonSink::names(const std::vector<FoundName>& names) {
  names_ = names;
}

void JsonSink::windows(const std::vector<LatencyWindow>& longest) {
  windows_ = longest;
}

void JsonSink::end(const SessionInfo& info, const Receipt& receipt) {
  JsonWriter json(output_, JsonWriter::Style::readable);
  json.begin_object(Elements::below);
  write_session(json, info);
  if (names_) {
    json.key("names");
    json.begin_array(Elements::below);
    for (const FoundName& found : *names_) {
      if (!found.caller) {
        json.value(found.name);
        continue;
      }
      json.begin_object();
      write_found(json, found);
      json.end_object();
    }
    json.end_array(Elements::below);
  }
  if (table_) write_table(json, *table_, receipt.lost());
  if (windows_) {
    json.key("worst");
    json.begin_array(Elements::below);
    for (const LatencyWindow& window : *windows_) {
      json.begin_object();
      write_window(json, window);
      json.end_object();
    }
    json.end_array(Elements::below);
  }
  json.key("receipt");
  json.begin_object();
  write_receipt(json, receipt);
  json.end_object();
  json.end_object(Elements::below);
  output_.append('\n');
  output_.flush();
}

}  // namespace overdue
