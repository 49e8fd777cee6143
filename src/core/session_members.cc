#include "core/session_members.h"

#include "base/time.h"

namespace overdue {
namespace {

void describe_target(Members& member, const TargetInfo& target) {
  member(
      "kind", target.kind,
      {.help = "command, pid, tid, name, cgroup, container, all; trace: a file of another tool"});
  member("values", target.values, {.help = "as given"});
  member("pids", target.pids, {.help = "processes found at the start"});
  member("follows_children", target.follows_children);
  member("cpus", target.cpus,
         {.help = "CPU list as given; empty: all; trace: a file of another tool"});
}

/// A number of stack frames of programs, and of the kernel.
void describe_sides(Members& member, std::uint64_t user, std::uint64_t kernel) {
  member("user", user, {.help = "of programs"});
  member("kernel", kernel);
}

}  // namespace

void describe(Members& member, const SessionInfo& info) {
  member("overdue", info.version, {.help = "version of Overdue"});
  member("schema", 1U, {.help = "version of this schema"});
  member("command", info.command);
  member.object("host", [&] {
    member("name", info.host);
    member("arch", info.arch);
    member("cpus", info.cpus);
  });
  member("kernel", info.kernel, {.help = "release"});
  member("start", format_rfc3339(info.start_wall), {.help = "wall-clock time, as RFC 3339"});
  member("start_ns", info.start.time_since_epoch().count(),
         {.help = "the same instant on CLOCK_MONOTONIC, as time_ns"});
  member("duration_ns", info.duration.count());
  member.object("target", [&] { describe_target(member, info.target); });
  member("backend", info.backend, {.help = "the kernel interface that measured"});
  member("notes", info.notes, {.below = true});
}

void describe(Members& member, const Receipt& receipt) {
  member.type("receipt", "Measured events, lost events, and the cost of measuring");
  member("events", receipt.events, {.help = "spans and events measured"});
  member("lost", receipt.lost());
  member("lost_by", receipt.lost_by, {.help = "by reason; adds up to \"lost\""});
  member("unmatched", receipt.unmatched, {.help = "ends without a begin"});
  member("cut", receipt.cut, {.help = "spans cut by the start or the end of the session"});
  member("refused", when(receipt.refused > 0, receipt.refused),
         {.help = "calls that seccomp or a tracer answered before they began"});
  member("probe_ns", or_null(receipt.probe_ns),
         {.help = "time of the runs of BPF programs on the whole machine; null: too small to "
                  "measure"});
  member("probe_error_ns", or_null(receipt.probe_error_ns),
         {.help = "half the 95 % confidence interval of probe_ns"});
  member("probe_target_ns", or_null(receipt.probe_target_ns),
         {.help = "part of probe_ns in threads of the target"});
  member("probe_runs", receipt.probe_runs);
  member("target_cpu_ns", or_null(receipt.target_cpu_ns),
         {.help = "CPU time of the target; null: unknown"});
  const std::optional<double> ratio = receipt.overhead_ratio();
  member("overhead_ratio", or_null(ratio), {.help = "probe_target_ns by target_cpu_ns"});
  member("own_cpu_ns", or_null(receipt.own.cpu_ns),
         {.help = "CPU time of Overdue's own processes, from its start; null: unknown"});
  member("own_memory_bytes", or_null(receipt.own.memory_bytes),
         {.help = "maximum resident memory of these processes"});
  member("bpf_bytes", or_null(receipt.own.bpf_bytes), {.help = "memory of BPF programs and maps"});
  const FrameCounts frames = receipt.frames.value_or(FrameCounts{});
  const auto sides = [&](std::string_view key, std::uint64_t user, std::uint64_t kernel,
                         std::string_view help) {
    member.object_if(receipt.frames.has_value(), key, [&] { describe_sides(member, user, kernel); },
                     {.help = help});
  };
  sides("frames", frames.user, frames.kernel, "stack frames of the findings");
  sides("unresolved_frames", frames.user_unresolved, frames.kernel_unresolved,
        "frames of these without the name of a function");
}

}  // namespace overdue
