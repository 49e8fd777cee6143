#include "cli/worst_kernel.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "analysis/latency_header.h"
#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "cli/own_use.h"
#include "cli/program_end.h"
#include "cli/progress.h"
#include "cli/report_envelope.h"
#include "cli/report_output.h"
#include "cli/stop_signals.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/tracing_instance.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

constexpr std::string_view no_latency_is_longer = "1000000000";  // us

SessionInfo describe(const KernelTracerRequest& request) {
  const Host host = read_host();
  const ClockPair clocks = read_clocks();
  SessionInfo info;
  info.version = OVERDUE_VERSION;
  info.command = "worst";
  info.host = host.name;
  info.kernel = host.kernel;
  info.arch = host.arch;
  info.cpus = host.online_cpus;
  info.start = clocks.monotonic;
  info.start_wall = clocks.wall;
  info.target.kind = "all";
  info.spans = {request.tracer};
  info.backend = "the kernel's tracer " + request.tracer;
  return info;
}

/// Whether functions are traced is the instance's own option; whether they can be, the kernel's.
void prepare_functions(const TracingInstance& instance, TracedFunctions functions) {
  if (functions == TracedFunctions::none) {
    // Which functions ran says more, and takes longer than what is measured.
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

/// The tracer's own options; then the tracer, and it begins anew. Recording stays on: the tracer
/// runs in any case, and where that is off, a latency that is the longest leaves an empty buffer.
/// The clock stays as it is, too: with another one Linux 6.1 shows nothing of what an instance's
/// latency tracer has recorded.
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

/// Of the time, of the program where there is one, or by a signal.
void wait_for_the_end(StopSignals& signals, SpawnedProgram* program,
                      std::optional<KernelTime> end) {
  while (!program || !program->try_wait()) {
    const KernelTime now = KernelClock::now();
    if (end && now >= *end) return;
    int wait_ms = -1;
    if (end) {
      constexpr auto longest = std::chrono::milliseconds(60'000);
      wait_ms = static_cast<int>(std::min<std::int64_t>(
          std::chrono::ceil<std::chrono::milliseconds>(*end - now).count(), longest.count()));
    }
    pollfd waits[]{{signals.fd(), POLLIN, 0}, {program ? program->pidfd() : -1, POLLIN, 0}};
    poll(waits, std::size(waits), wait_ms);
    const auto signal = signals.take();
    if (!signal) continue;
    if (!program) return;
    if (!signal->from_terminal) program->forward(signal->number);
    const KernelTime limit = KernelClock::now() + grace_after_signal;
    end = end ? std::min(*end, limit) : limit;
  }
}

}  // namespace

int run_in_instance(const KernelTracerRequest& request, const Kernel& kernel,
                    const std::function<void(const SessionInfo&)>& begin,
                    const std::function<void(SessionInfo, const KernelTrace&)>& end) {
  constexpr std::array needed{Capability::sys_admin};
  require_capabilities("worst", needed);
  if (!in_initial_pid_namespace())
    throw Error("cannot use the kernel's tracers from inside a PID namespace")
        .hint("run it in the host's: nsenter -t 1 -p");
  require_support("use the kernel's tracer", kernel.tracer(request.tracer));
  Progress progress(!request.output.quiet);
  StopSignals signals;
  std::unique_ptr<SpawnedProgram> program;
  if (!request.program.empty())
    program = std::make_unique<SpawnedProgram>(request.program, request.spawn);
  progress.step("preparing the kernel's tracer");
  const auto tracefs = kernel.tracefs_path();
  if (!tracefs)
    throw Error("no tracefs is mounted").hint("mount -t tracefs tracefs /sys/kernel/tracing");
  const TracingInstance instance(*tracefs);
  prepare(instance, request);
  give_up_rights_to_attach(Helpers::none, Attaching::is_over);
  SessionInfo info = describe(request);
  begin(info);
  std::optional<KernelTime> deadline;
  if (request.duration) deadline = info.start + *request.duration;
  const auto interrupted = signals.take();
  if (!interrupted) {
    if (program) program->release();
    progress.step(program ? "" : "measuring");  // not over what the program prints
    wait_for_the_end(signals, program.get(), deadline);
  }
  const std::string longest_us = read_word(instance.path() / "tracing_max_latency");
  // Switching off stops the recording first, and the tracer then. A latency that ends in between
  // must not be the longest: it would put its empty buffer in the place of the longest one's.
  instance.write("tracing_max_latency", no_latency_is_longer);
  instance.write("tracing_on", "0");
  info.duration = KernelClock::now() - info.start;
  progress.step("writing");
  const KernelTrace trace{instance.read("trace"), longest_us, own_use(program.get())};
  progress.step("");
  end(std::move(info), trace);
  if (interrupted) return program ? 128 + interrupted->number : 0;  // it was never run
  return program ? wait_unmeasured(*program, signals, request.output.quiet) : 0;
}

int run_kernel_tracer(const KernelTracerRequest& request, const Kernel& kernel) {
  ReportOutput report;
  const auto begin = [&](const SessionInfo& info) {
    report = open_report(request.output, !request.program.empty(), false);
    report.sink->begin(info);
  };
  const auto end = [&](SessionInfo info, const KernelTrace& trace) {
    std::optional<LatencyWindow> longest = parse_latency_trace(trace.text);
    if (!longest && trace.longest_us != "0")
      throw Error("the kernel's tracer has seen {} us, and shows nothing of it",
                  printable(trace.longest_us))
          .hint("--backend bpf");
    Receipt receipt;
    receipt.events = longest ? 1 : 0;
    receipt.own = trace.own;
    std::vector<LatencyWindow> windows;
    if (longest) {
      if (longest->lost_events) receipt.lost_by["tracer_buffer"] = longest->lost_events;
      windows.push_back(std::move(*longest));
    } else {
      info.notes.push_back(
          fmt::format("nothing found: the kernel's tracer {} has seen none", request.tracer));
    }
    if (!request.program.empty())
      info.notes.emplace_back("the kernel's tracer followed everybody, not the program alone");
    info.notes.emplace_back(
        "the kernel's tracers count whole microseconds, and do not tell how many they followed");
    end_report(info, receipt, [&] {
      report.sink->windows(windows);
      report.sink->end(info, receipt);
      report.output->close();
    });
  };
  return run_in_instance(request, kernel, begin, end);
}

}  // namespace overdue
