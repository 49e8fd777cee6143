#include "live/worst_kernel.h"

#include <array>
#include <cstdint>
#include <memory>

#include <fmt/format.h>

#include "analysis/latency_header.h"
#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/tracing_instance.h"
#include "report/hwlat/windows.h"
#include "report/tracer_text.h"
#include "source/session_start.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

constexpr std::string_view no_latency_is_longer = "1000000000";  // us
constexpr std::string_view hwlat_tracer = "hwlat";

SessionInfo describe(const KernelTracerRequest& request) {
  const ClockPair clocks = read_clocks();
  SessionInfo info = describe_session("worst");
  info.start = clocks.monotonic;
  info.start_wall = clocks.wall;
  info.target.kind = "all";
  info.spans = {request.tracer};
  info.backend = "the kernel's tracer " + request.tracer;
  info.options = request.kept;
  return info;
}

/// Tracing of functions is an option of the instance; the kernel must also allow it.
void prepare_functions(const TracingInstance& instance, TracedFunctions functions) {
  if (functions == TracedFunctions::none) {
    // Tracing of functions takes longer than the latencies to be measured.
    instance.try_write("options/function-trace", "0");
    return;
  }
  const bool graph = functions == TracedFunctions::graph;
  if (!instance.try_write("options/function-trace", "1") ||
      (graph && !instance.try_write("options/display-graph", "1")))
    throw Error("the kernel was built without the tracer of functions{}", graph ? "' graphs" : "")
        .hint("--events");
  if (read_word("/proc/sys/kernel/ftrace_enabled") == "0")
    throw Error("tracing of functions is switched off: kernel.ftrace_enabled is 0")
        .hint("sysctl kernel.ftrace_enabled=1");
}

/// Sets the options of the tracer, then the tracer, and lets it begin anew. Recording stays on: the
/// tracer runs in any case, and without recording a new longest latency leaves an empty buffer. The
/// clock stays the same too: with another clock, Linux 6.1 shows nothing that the latency tracer of
/// an instance has recorded.
void prepare(const TracingInstance& instance, const KernelTracerRequest& request) {
  prepare_functions(instance, request.functions);
  if (request.events) {
    constexpr std::array events = {"sched/sched_switch",
                                   "sched/sched_waking",
                                   "sched/sched_wakeup",
                                   "sched/sched_migrate_task",
                                   "irq",
                                   "irq_vectors"};
    for (const char* event : events)
      instance.try_write(fmt::format("events/{}/enable", event), "1");
  }
  instance.write("current_tracer", request.tracer);
  instance.write("tracing_max_latency", "0");
}

}  // namespace

LatencyTracer::LatencyTracer(KernelTracerRequest request, const Kernel& kernel)
    : request_(std::move(request)), kernel_(kernel) {}

LatencyTracer::~LatencyTracer() = default;

void LatencyTracer::check() {
  tracefs_ = require_kernel_tracer(kernel_, "worst", request_.tracer);
}

SessionInfo LatencyTracer::start(const SpawnedProgram* program) {
  has_program_ = program != nullptr;
  instance_ = std::make_unique<TracingInstance>(tracefs_);
  prepare(*instance_, request_);
  drop_rights_to_attach(Helpers::none, Attaching::is_over);
  return describe(request_);
}

KernelTime LatencyTracer::stop(SessionInfo& info, const RecordHandler& handler) {
  longest_us_ = read_word(instance_->path() / "tracing_max_latency");
  // Switching off stops first the recording, then the tracer. A latency that ends in between must
  // not be the longest: its empty buffer would replace the buffer of the longest latency.
  instance_->write("tracing_max_latency", no_latency_is_longer);
  instance_->write("tracing_on", "0");
  const KernelTime end = KernelClock::now();
  text_ = instance_->read("trace");
  instance_.reset();
  if (request_.tracer != hwlat_tracer) note_what_is_there(info);
  deliver_tracer_text(text_, handler);
  return end;
}

void LatencyTracer::note_what_is_there(SessionInfo& info) {
  longest_ = parse_latency_trace(text_);
  if (!longest_ && longest_us_ != "0")
    throw Error("the kernel's tracer has seen {} us, and shows nothing of it",
                printable(longest_us_))
        .hint("--backend bpf");
  if (!longest_)
    info.notes.push_back(
        fmt::format("nothing found: the kernel's tracer {} has seen none", request_.tracer));
  if (has_program_)
    info.notes.emplace_back("the kernel's tracer tracked the whole machine, not only the program");
  info.notes.emplace_back(
      "the kernel's tracers count whole microseconds, and do not count the latencies that they "
      "tracked");
}

Receipt LatencyTracer::receipt(SessionInfo&, bool) {
  Receipt receipt;
  receipt.events = longest_ ? 1 : 0;
  if (longest_ && longest_->lost_events) receipt.lost_by["tracer_buffer"] = longest_->lost_events;
  if (request_.tracer == hwlat_tracer)
    for (const std::string_view line : split(text_, '\n'))
      if (parse_hwlat_line(line)) ++receipt.events;
  return receipt;
}

}  // namespace overdue
