#include "sinks/json_schema.h"

#include <nlohmann/json.hpp>

#include "sinks/finding_schema.h"
#include "sinks/timerlat_schema.h"
#include "sinks/window_json.h"

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

// The part of the schema that does not depend on record types. Kept as JSON, the form that a reader
// of the output needs.
constexpr const char* fixed_part = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Overdue's output, version 1",
  "description": "One report (--format json), or one line of a stream (--format ndjson). Times are integers in nanoseconds; time_ns counts on CLOCK_MONOTONIC, which was at start_ns when the wall clock was at \"start\": a record's wall time is start + (time_ns - start_ns). In strings, a byte that is not printable UTF-8 stands as the four characters \\xNN.",
  "oneOf": [{"$ref": "#/$defs/report"}, {"$ref": "#/$defs/line"}],
  "$defs": {
    "count": {"type": "integer", "minimum": 0},
    "ns": {"type": "integer", "minimum": 0, "description": "nanoseconds"},
    "ns_or_null": {"type": ["integer", "null"], "minimum": 0, "description": "nanoseconds; null: not known"},
    "id": {"type": "integer", "minimum": 0, "maximum": 4294967295},
    "session": {
      "type": "object",
      "description": "Who measured what, where and when",
      "required": ["overdue", "schema", "command", "host", "kernel", "start", "start_ns", "duration_ns", "target", "backend", "notes"],
      "properties": {
        "overdue": {"type": "string", "description": "version of Overdue"},
        "schema": {"const": 1, "description": "version of this schema"},
        "command": {"type": "string"},
        "host": {
          "type": "object",
          "required": ["name", "arch", "cpus"],
          "properties": {"name": {"type": "string"}, "arch": {"type": "string"}, "cpus": {"$ref": "#/$defs/count"}},
          "additionalProperties": false
        },
        "kernel": {"type": "string", "description": "release"},
        "start": {"$ref": "#/$defs/instant"},
        "start_ns": {"$ref": "#/$defs/ns", "description": "the same instant on CLOCK_MONOTONIC, as time_ns"},
        "duration_ns": {"$ref": "#/$defs/ns"},
        "target": {
          "type": "object",
          "required": ["kind", "values", "pids", "follows_children", "cpus"],
          "properties": {
            "kind": {"type": "string", "description": "command, pid, tid, name, cgroup, container, all"},
            "values": {"type": "array", "items": {"type": "string"}, "description": "as given"},
            "pids": {"type": "array", "items": {"$ref": "#/$defs/id"}, "description": "processes found at the start"},
            "follows_children": {"type": "boolean"},
            "cpus": {"type": "string", "description": "CPU list as given; empty: all"}
          },
          "additionalProperties": false
        },
        "backend": {"type": "string", "description": "how the kernel was asked"},
        "notes": {"type": "array", "items": {"type": "string"}}
      }
    },
    "instant": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$"},
    "table": {
      "type": "object",
      "required": ["by", "wall_ns", "complete", "unfinished"],
      "properties": {
        "by": {"type": "array", "items": {"enum": ["syscall", "process", "thread", "container", "library", "caller"]}, "description": "what rows are grouped by"},
        "wall_ns": {"$ref": "#/$defs/ns", "description": "the time the rows cover"},
        "complete": {"type": "boolean", "description": "false where loss could have changed a figure"},
        "syscalls": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "unfinished": {"type": "array", "items": {"$ref": "#/$defs/open"}, "description": "calls still open at the end, oldest first"}
      }
    },
    "row": {
      "type": "object",
      "description": "One kind of call, of one group. Latencies are 0 where no call was timed",
      "required": ["name", "id", "calls", "errors", "total_ns", "min_ns", "avg_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns", "stddev_ns", "histogram", "errnos", "unreturned", "late", "untimed", "refused", "complete", "uncertain"],
      "properties": {
        "name": {"type": "string"},
        "id": {"$ref": "#/$defs/id", "description": "system call number"},
        "process": {
          "type": "object", "required": ["pid", "comm"], "additionalProperties": false,
          "properties": {"pid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}}
        },
        "thread": {
          "type": "object", "required": ["tid", "comm"], "additionalProperties": false,
          "properties": {"tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}}
        },
        "container": {"type": "string"},
        "library": {"type": "string", "description": "file name of the library that the program called into"},
        "caller": {"type": "string", "description": "the function of it that was called"},
        "calls": {"$ref": "#/$defs/count", "description": "calls made: those in the histogram, \"unreturned\", \"untimed\" and \"refused\""},
        "errors": {"$ref": "#/$defs/count", "description": "calls that returned -1 to -4095"},
        "total_ns": {"$ref": "#/$defs/ns"},
        "min_ns": {"$ref": "#/$defs/ns"},
        "avg_ns": {"$ref": "#/$defs/ns", "description": "total_ns by the calls that returned, rounded down"},
        "p50_ns": {"$ref": "#/$defs/ns", "description": "percentiles: upper bound of the histogram's bucket, at most 6.25 % above the exact value"},
        "p95_ns": {"$ref": "#/$defs/ns"},
        "p99_ns": {"$ref": "#/$defs/ns"},
        "max_ns": {"$ref": "#/$defs/ns"},
        "stddev_ns": {"$ref": "#/$defs/ns"},
        "histogram": {
          "type": "array",
          "description": "[low_ns, high_ns, count] of each bucket that is not empty; high_ns is not included",
          "items": {"type": "array", "items": {"$ref": "#/$defs/count"}, "minItems": 3, "maxItems": 3}
        },
        "errnos": {"type": "object", "additionalProperties": {"$ref": "#/$defs/count"}, "description": "errors by errno name, most frequent first"},
        "unreturned": {"$ref": "#/$defs/count", "description": "calls that never returned: the thread ended inside"},
        "late": {"type": "boolean", "description": "first seen after the discovery phase of a two-phase run"},
        "untimed": {"$ref": "#/$defs/count", "description": "calls counted but not timed, in a two-phase run: made before their exit had a hook, or their exit has none (rt_sigreturn, numbers above 511)"},
        "refused": {"$ref": "#/$defs/count", "description": "calls that never began: seccomp or a tracer answered them, or the kernel killed the thread. Their errors are in \"errors\""},
        "complete": {"type": "boolean", "description": "false where loss could have changed a percentile"},
        "uncertain": {"type": "array", "items": {"enum": ["p50_ns", "p95_ns", "p99_ns"]}, "description": "which percentiles"}
      },
      "additionalProperties": false
    },
    "found": {
      "type": "object",
      "description": "a call, and a library function that caused it",
      "required": ["name", "library", "caller"],
      "properties": {"name": {"type": "string"}, "library": {"type": "string"}, "caller": {"type": "string"}},
      "additionalProperties": false
    },
    "open": {
      "type": "object",
      "required": ["name", "tid", "comm", "age_ns"],
      "properties": {
        "name": {"type": "string"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}, "age_ns": {"$ref": "#/$defs/ns"},
        "older": {"type": "boolean", "description": "it began before the session: age_ns is a lower bound"}
      },
      "additionalProperties": false
    },
    "by_side": {
      "type": "object",
      "description": "of programs, and of the kernel",
      "required": ["user", "kernel"],
      "properties": {"user": {"$ref": "#/$defs/count"}, "kernel": {"$ref": "#/$defs/count"}},
      "additionalProperties": false
    },
    "receipt": {
      "type": "object",
      "description": "What was seen, what was not, and what measuring cost",
      "required": ["events", "lost", "lost_by", "unmatched", "cut", "probe_ns", "probe_error_ns", "probe_target_ns", "probe_runs", "target_cpu_ns", "overhead_ratio", "own_cpu_ns", "own_memory_bytes", "bpf_bytes"],
      "properties": {
        "events": {"$ref": "#/$defs/count", "description": "spans and events measured"},
        "lost": {"$ref": "#/$defs/count"},
        "lost_by": {"type": "object", "additionalProperties": {"$ref": "#/$defs/count"}, "description": "by reason; adds up to \"lost\""},
        "unmatched": {"$ref": "#/$defs/count", "description": "ends without a begin"},
        "cut": {"$ref": "#/$defs/count", "description": "spans cut by the start or the end of the session"},
        "refused": {"$ref": "#/$defs/count", "description": "calls that seccomp or a tracer answered before they began; absent where there are none"},
        "probe_ns": {"$ref": "#/$defs/ns_or_null", "description": "what the runs of BPF programs took, on the whole machine; null: too small to measure"},
        "probe_error_ns": {"$ref": "#/$defs/ns_or_null", "description": "probe_ns is right to within this, 19 of 20 times"},
        "probe_target_ns": {"$ref": "#/$defs/ns_or_null", "description": "of probe_ns, in threads of the target"},
        "probe_runs": {"$ref": "#/$defs/count"},
        "target_cpu_ns": {"$ref": "#/$defs/ns_or_null", "description": "CPU time the target used; null: unknown"},
        "overhead_ratio": {"type": ["number", "null"], "minimum": 0, "description": "probe_target_ns by target_cpu_ns"},
        "own_cpu_ns": {"$ref": "#/$defs/ns_or_null", "description": "CPU time of Overdue's own processes, from its start; null: not known"},
        "own_memory_bytes": {"type": ["integer", "null"], "minimum": 0, "description": "the most memory that was resident in them"},
        "bpf_bytes": {"type": ["integer", "null"], "minimum": 0, "description": "memory of BPF programs and maps"},
        "frames": {"$ref": "#/$defs/by_side", "description": "of all stacks of what was found; absent where there are none"},
        "unresolved_frames": {"$ref": "#/$defs/by_side", "description": "of those without the name of a function"}
      }
    },
    "report": {
      "description": "One session, --format json",
      "allOf": [{"$ref": "#/$defs/session"}, {"if": {"required": ["period_ns"]}, "then": {"$ref": "#/$defs/timerlat"}}, {"if": {"required": ["timers"]}, "then": {"$ref": "#/$defs/own_timers_report"}}, {"if": {"required": ["osnoise"]}, "then": {"$ref": "#/$defs/osnoise"}}, {"if": {"required": ["hwlat"]}, "then": {"$ref": "#/$defs/hwlat"}}],
      "required": ["receipt"],
      "not": {"required": ["type"]},
      "properties": {
        "names": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/found"}]}, "description": "what --discover found"},
        "worst": {"type": "array", "items": {"$ref": "#/$defs/window", "unevaluatedProperties": false}, "description": "the longest latencies, the longest first"},
        "receipt": {"$ref": "#/$defs/receipt", "unevaluatedProperties": false}
      },
      "if": {"required": ["wall_ns"]},
      "then": {"$ref": "#/$defs/table"},
      "unevaluatedProperties": false
    },
    "line": {
      "description": "One line of a stream, --format ndjson; the last is the receipt",
      "type": "object",
      "required": ["type"],
      "oneOf": [
        {
          "description": "One interval of --interval",
          "required": ["start", "end"],
          "properties": {"type": {"const": "interval"}, "start": {"$ref": "#/$defs/instant"}, "end": {"$ref": "#/$defs/instant"}},
          "allOf": [{"$ref": "#/$defs/table"}],
          "unevaluatedProperties": false
        },
        {
          "description": "One name that --discover found",
          "required": ["name"],
          "properties": {"type": {"const": "name"}, "name": {"type": "string"}, "library": {"type": "string"}, "caller": {"type": "string"}},
          "unevaluatedProperties": false
        },
        {
          "description": "The session, and its final table where there is one; without a table, what was unfinished",
          "properties": {
            "type": {"const": "report"},
            "unfinished": {"type": "array", "items": {"$ref": "#/$defs/open"}, "description": "calls still open at the end, oldest first"}
          },
          "allOf": [{"$ref": "#/$defs/session"}, {"if": {"required": ["period_ns"]}, "then": {"$ref": "#/$defs/timerlat"}}, {"if": {"required": ["timers"]}, "then": {"$ref": "#/$defs/own_timers_report"}}, {"if": {"required": ["osnoise"]}, "then": {"$ref": "#/$defs/osnoise"}}, {"if": {"required": ["hwlat"]}, "then": {"$ref": "#/$defs/hwlat"}}],
          "if": {"required": ["wall_ns"]},
          "then": {"$ref": "#/$defs/table"},
          "unevaluatedProperties": false
        },
        {
          "properties": {"type": {"const": "receipt"}},
          "allOf": [{"$ref": "#/$defs/receipt"}],
          "unevaluatedProperties": false
        }
      ]
    }
  }
})json";

Json reference(const char* definition) {
  return {{"$ref", std::string("#/$defs/") + definition}};
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

}  // namespace

std::string json_schema(std::span<const Schema* const> records) {
  Json document = Json::parse(fixed_part);
  document["$defs"].update(Json::parse(finding_definitions));
  for (const char* more : {timerlat_definitions, window_definitions})
    document["$defs"].update(Json::parse(more));
  Json& lines = document["$defs"]["line"]["oneOf"];
  for (const char* more : {finding_lines, timerlat_lines, window_lines})
    for (Json& line : Json::parse(more)) lines.push_back(std::move(line));
  for (const Schema* schema : records) lines.push_back(record_definition(*schema));
  return document.dump(2) + "\n";
}

}  // namespace overdue
