#include "sinks/json_schema.h"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "core/session_members.h"
#include "sinks/schema_members.h"

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema_title = "Overdue's output, version 1";
constexpr const char* schema_help =
    "One report (--format json), or one line of a stream (--format ndjson). Times are integers in "
    "nanoseconds. time_ns counts on CLOCK_MONOTONIC, which was at start_ns when the wall clock was "
    "at \"start\": the wall time of a record is start + (time_ns - start_ns). In strings, a byte "
    "that is not printable UTF-8 stands as the four characters \\xNN.";

Json reference(const char* definition) {
  return {{"$ref", std::string("#/$defs/") + definition}};
}

/// Numbers, which all other definitions use.
Json numbers() {
  return {{"count", {{"type", "integer"}, {"minimum", 0}}},
          {"ns", {{"type", "integer"}, {"minimum", 0}, {"description", "nanoseconds"}}},
          {"id", {{"type", "integer"}, {"minimum", 0}, {"maximum", UINT32_MAX}}}};
}

/// JSON type of a field's value, in accordance with visit_record().
Json field_type(const Field& field) {
  switch (field.unit) {
    case Unit::text:
      return {{"type", "string"}};
    case Unit::result:
      return {{"type", "integer"}};
    case Unit::nanoseconds:
      return reference("ns");
    case Unit::histogram:
      return {{"type", "array"},
              {"items", {{"type", "string"}, {"pattern", "^[0-9]+-[0-9]+:[0-9]+$"}}}};
    default:
      if (field.size > sizeof(std::uint64_t))
        return {{"type", "array"}, {"items", {{"type", "string"}, {"pattern", "^[0-9]+$"}}}};
      return reference("count");
  }
}

void describe(Json& properties, const char* name, Json type, std::string_view help) {
  type["description"] = help;
  properties[name] = std::move(type);
}

Json header_properties(std::string_view type) {
  Json properties;
  properties["type"] = {{"const", type}};
  describe(properties, "time_ns", reference("ns"),
           "when what the record measures ended, CLOCK_MONOTONIC");
  describe(properties, "pid", reference("id"), "process");
  describe(properties, "tid", reference("id"), "thread");
  describe(properties, "comm", {{"type", "string"}}, "name of the thread");
  describe(properties, "cpu", reference("id"), "CPU");
  describe(properties, "cgroup_id", reference("count"), "cgroup, where the session watches them");
  return properties;
}

/// One record type: the header, then the schema's fields.
Json record_definition(const Schema& schema) {
  Json properties = header_properties(schema.name);
  Json required{"type", "time_ns", "pid", "tid", "comm", "cpu"};
  const bool decoded = schema.visit != nullptr;
  if (decoded) {  // the schema's visit() may write any of these members, and others
    describe(properties, "name", {{"type", "string"}}, "what was called, as people name it");
    describe(properties, "id", reference("id"), "the number behind the name");
    describe(properties, "args", {{"type", "array"}, {"items", {{"type", "string"}}}},
             "decoded arguments");
    describe(properties, "refused", {{"enum", {"answered", "SIGSYS", "killed"}}},
             "of a call that never began: what its thread got from seccomp or a tracer instead");
  }
  for (const Field& field : schema.fields) {
    if (field.unit == Unit::opaque) continue;
    describe(properties, std::string(field.name).c_str(), field_type(field), field.help);
    if (!decoded) required.push_back(field.name);
    if (field.unit != Unit::histogram) continue;
    for (const char* figure : {"count", "total_ns", "min_ns", "max_ns"})
      describe(properties, figure, reference("count"), "of the histogram, exact");
  }
  Json definition{{"description", schema.help},
                  {"required", std::move(required)},
                  {"properties", std::move(properties)}};
  if (!decoded) definition["unevaluatedProperties"] = false;
  return definition;
}

/// Describes the session, then the sections of a report.
void describe_report(Members& member, const ReportShape& shape, bool has_lines) {
  const SessionInfo info;
  const Receipt receipt;
  describe(member, info);
  for (const SectionPtr& section : shape.sections)
    section->members(member, {.info = info, .receipt = receipt, .has_lines = has_lines});
}

Json report_definition(const ReportShape& shape, Json& definitions) {
  Json report = SchemaMembers(definitions).object_of([&](Members& member) {
    describe_report(member, shape, false);
    member("receipt", Receipt{});
  });
  report["description"] = shape.help;
  return report;
}

/// An object whose first member is its type.
template <typename F>
Json line_definition(const std::vector<std::string_view>& types, std::string_view line_help,
                     Json& definitions, const F& describe_members) {
  Json line = SchemaMembers(definitions).object_of([&](Members& member) {
    member("type", "", {.choices = types});
    describe_members(member);
  });
  line["description"] = line_help;
  return line;
}

}  // namespace

std::string json_schema(std::span<const Schema* const> records,
                        std::span<const ReportShape> reports, std::span<const LineShape> lines,
                        std::span<const DocumentShape> documents) {
  Json definitions = numbers(), any_report = Json::array(), any_line = Json::array();
  for (const ReportShape& shape : reports) {
    any_report.push_back(report_definition(shape, definitions));
    Json line = line_definition({"report"}, shape.help, definitions,
                                [&](Members& member) { describe_report(member, shape, true); });
    if (std::ranges::find(any_line, line) == any_line.end()) any_line.push_back(std::move(line));
  }
  for (const DocumentShape& shape : documents) {
    Json document = SchemaMembers(definitions).object_of(shape.describe);
    document["description"] = shape.help;
    any_report.push_back(std::move(document));
  }
  const SessionInfo info;
  const Receipt receipt;
  for (const LineShape& shape : lines)
    any_line.push_back(line_definition(shape.types, shape.help, definitions, [&](Members& member) {
      shape.section->members(member, {.info = info, .receipt = receipt});
    }));
  any_line.push_back(line_definition({"receipt"}, "The last line", definitions,
                                     [&](Members& member) { describe(member, receipt); }));
  for (const Schema* schema : records) any_line.push_back(record_definition(*schema));
  definitions["report"] = {{"description", "One session, --format json"},
                           {"anyOf", std::move(any_report)}};
  definitions["line"] = {{"description", "One line of a stream, --format ndjson"},
                         {"anyOf", std::move(any_line)}};
  const Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", schema_title},
                         {"description", schema_help},
                         {"anyOf", {reference("report"), reference("line")}},
                         {"$defs", std::move(definitions)}};
  return document.dump(2) + "\n";
}

}  // namespace overdue
