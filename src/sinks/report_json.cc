#include "sinks/report_json.h"

namespace overdue {
namespace {

using Elements = JsonWriter::Elements;

void write_target(JsonWriter& json, const TargetInfo& target) {
  json.begin_object();
  json.member("kind", target.kind);
  json.key("values");
  json.begin_array();
  for (const std::string& value : target.values) json.value(value);
  json.end_array();
  json.key("pids");
  json.begin_array();
  for (const std::uint32_t pid : target.pids) json.value(pid);
  json.end_array();
  json.member("follows_children", target.follows_children);
  json.member("cpus", target.cpus);
  json.end_object();
}

void write_keys(JsonWriter& json, const RowFigures& row) {
  if (row.process) {
    json.key("process");
    json.begin_object();
    json.member("pid", row.process->pid);
    json.member("comm", row.process->comm);
    json.end_object();
  }
  if (row.thread) {
    json.key("thread");
    json.begin_object();
    json.member("tid", row.thread->tid);
    json.member("comm", row.thread->comm);
    json.end_object();
  }
  if (row.container) json.member("container", *row.container);
  if (row.library) json.member("library", *row.library);
  if (row.caller) json.member("caller", *row.caller);
}

void write_histogram(JsonWriter& json, const RowFigures& row) {
  json.key("histogram");
  json.begin_array();
  for (const RowFigures::Bucket& bucket : row.buckets) {
    json.begin_array();
    json.value(bucket.low_ns);
    json.value(bucket.high_ns);
    json.value(bucket.count);
    json.end_array();
  }
  json.end_array();
}

void write_certainty(JsonWriter& json, const RowFigures& row, std::uint64_t lost) {
  json.member("complete", row.complete(lost));
  json.key("uncertain");
  json.begin_array();
  if (!row.certain(row.p50, lost)) json.value("p50_ns");
  if (!row.certain(row.p95, lost)) json.value("p95_ns");
  if (!row.certain(row.p99, lost)) json.value("p99_ns");
  json.end_array();
}

void write_row(JsonWriter& json, const RowFigures& row, std::uint64_t lost) {
  json.begin_object();
  json.member("name", row.name);
  json.member("id", row.id);
  write_keys(json, row);
  json.member("calls", row.calls);
  json.member("errors", row.errors);
  json.member("total_ns", row.total_ns);
  json.member("min_ns", row.min_ns);
  json.member("avg_ns", row.avg_ns);
  json.member("p50_ns", row.p50.value_ns);
  json.member("p95_ns", row.p95.value_ns);
  json.member("p99_ns", row.p99.value_ns);
  json.member("max_ns", row.max_ns);
  json.member("stddev_ns", row.stddev_ns);
  write_histogram(json, row);
  json.key("errnos");
  json.begin_object();
  for (const auto& [name, count] : row.errnos) json.member(name, count);
  json.end_object();
  json.member("unreturned", row.unreturned);
  json.member("late", row.late);
  json.member("untimed", row.untimed);
  json.member("refused", row.refused);
  write_certainty(json, row, lost);
  json.end_object();
}

}  // namespace

std::string_view table_key(const TableFigures& table) {
  return table.title.empty() ? std::string_view("rows") : std::string_view(table.title);
}

void write_session(JsonWriter& json, const SessionInfo& info) {
  json.member("overdue", info.version);
  json.member("schema", 1u);
  json.member("command", info.command);
  json.key("host");
  json.begin_object();
  json.member("name", info.host);
  json.member("arch", info.arch);
  json.member("cpus", info.cpus);
  json.end_object();
  json.member("kernel", info.kernel);
  json.member("start", format_rfc3339(info.start_wall));
  json.member("start_ns", info.start.time_since_epoch().count());
  json.member("duration_ns", info.duration.count());
  json.key("target");
  write_target(json, info.target);
  json.member("backend", info.backend);
  json.key("notes");
  json.begin_array(Elements::below);
  for (const std::string& note : info.notes) json.value(note);
  json.end_array(Elements::below);
}

void write_table(JsonWriter& json, const TableFigures& table, std::uint64_t lost) {
  json.key("by");
  json.begin_array();
  json.value("syscall");
  if (table.by.process) json.value("process");
  if (table.by.thread) json.value("thread");
  if (table.by.container) json.value("container");
  if (table.by.library) json.value("library");
  if (table.by.caller) json.value("caller");
  json.end_array();
  json.member("wall_ns", table.wall_ns);
  json.member("complete", table.complete(lost));
  json.key(table_key(table));
  json.begin_array(Elements::below);
  for (const RowFigures& row : table.rows) write_row(json, row, lost);
  json.end_array(Elements::below);
  write_unfinished(json, table.unfinished);
}

void write_found(JsonWriter& json, const FoundName& found) {
  json.member("name", found.name);
  if (!found.caller) return;
  json.member("library", found.caller->library);
  json.member("caller", found.caller->function);
}

void write_unfinished(JsonWriter& json, const std::vector<OpenSpan>& unfinished) {
  json.key("unfinished");
  json.begin_array(Elements::below);
  for (const OpenSpan& span : unfinished) {
    json.begin_object();
    json.member("name", span.name);
    json.member("tid", span.tid);
    json.member("comm", span.comm);
    json.member("age_ns", span.age_ns);
    if (span.older) json.member("older", true);
    json.end_object();
  }
  json.end_array(Elements::below);
}

void write_receipt(JsonWriter& json, const Receipt& receipt) {
  json.member("events", receipt.events);
  json.member("lost", receipt.lost());
  json.key("lost_by");
  json.begin_object();
  for (const auto& [reason, count] : receipt.lost_by) json.member(reason, count);
  json.end_object();
  json.member("unmatched", receipt.unmatched);
  json.member("cut", receipt.cut);
  if (receipt.refused > 0) json.member("refused", receipt.refused);
  const auto known = [&json](std::string_view name, const auto& value) {
    json.member_or_null(name, value ? &*value : nullptr,
                        [&json](auto number) { json.value(number); });
  };
  known("probe_ns", receipt.probe_ns);
  known("probe_error_ns", receipt.probe_error_ns);
  known("probe_target_ns", receipt.probe_target_ns);
  json.member("probe_runs", receipt.probe_runs);
  known("target_cpu_ns", receipt.target_cpu_ns);
  known("overhead_ratio", receipt.overhead_ratio());
  known("own_cpu_ns", receipt.own.cpu_ns);
  known("own_memory_bytes", receipt.own.memory_bytes);
  known("bpf_bytes", receipt.own.bpf_bytes);
  if (!receipt.frames) return;
  const auto by_side = [&](std::string_view key, std::uint64_t user, std::uint64_t kernel) {
    json.key(key);
    json.begin_object();
    json.member("user", user);
    json.member("kernel", kernel);
    json.end_object();
  };
  const FrameCounts& frames = *receipt.frames;
  by_side("frames", frames.user, frames.kernel);
  by_side("unresolved_frames", frames.user_unresolved, frames.kernel_unresolved);
}

}  // namespace overdue
