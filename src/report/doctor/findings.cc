// The needs of each command of the contract, and its substitute if the kernel's own tracer is
// missing.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "core/latency_window.h"
#include "probes/worst/sections.h"
#include "report/doctor/findings.h"

namespace overdue {
namespace {

CommandFinding decide(std::string name, Support native, std::string_view how) {
  CommandFinding finding;
  finding.name = std::move(name);
  finding.native = std::move(native);
  finding.availability = finding.native.yes ? Availability::natively : Availability::not_here;
  if (finding.native.yes) finding.how = how;
  return finding;
}

/// Natively if `native` says yes; else, if `substitute` says yes, in the way `other_way`.
CommandFinding decide(std::string name, Support native, std::string_view how,
                      const Support& substitute, std::string_view other_way) {
  CommandFinding finding = decide(std::move(name), std::move(native), how);
  if (finding.native.yes || !substitute.yes) return finding;
  finding.availability = Availability::by_substitute;
  finding.how = other_way;
  return finding;
}

Support syscalls(const Kernel& kernel) {
  return kernel.session({"sys_enter", "sys_exit", "sched_process_fork", "sched_process_exit"});
}

Support scheduling(const Kernel& kernel) {
  return kernel.session({"sched_switch", "sched_waking", "sched_wakeup_new"});
}

Support interrupts(const Kernel& kernel) {
  return kernel.session(
      {"irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit", "sched_switch"});
}

Support timers(const Kernel& kernel) {
  return kernel.session({"hrtimer_expire_entry", "sched_switch", "sched_waking"});
}

CommandFinding find_syscalls(const Kernel& kernel) {
  const Support two_phase = kernel.tracepoints();
  return decide("syscalls", syscalls(kernel),
                two_phase.yes ? "typed tracepoints; --two-phase with the calls' own at their exits"
                              : "typed tracepoints; no --two-phase: " + two_phase.missing);
}

CommandFinding find_io(const Kernel& kernel) {
  return decide("io",
                kernel.session({"sys_enter", "sys_exit", "block_rq_issue", "block_rq_complete"}),
                "system calls and block requests, typed tracepoints");
}

void add_sampling(const Kernel& kernel, std::vector<CommandFinding>& found) {
  Support clock = kernel.session();
  if (clock.yes) clock = kernel.cpu_clock();
  found.push_back(decide("profile", std::move(clock),
                         "sampled by timer (cpu-clock): code that runs with interrupts off is "
                         "attributed to what comes after it"));
  found.push_back(decide("flame", {}, "reads files"));
}

void add_latency_tracers(const Kernel& kernel, std::vector<CommandFinding>& found) {
  found.push_back(decide("timerlat", kernel.tracer("timerlat"), "the kernel's timerlat tracer",
                         timers(kernel), "BPF at timer expiry, wake-up and switch"));
  found.push_back(
      decide("osnoise", kernel.tracer("osnoise"), "the kernel's osnoise tracer", interrupts(kernel),
             "BPF at interrupts and switches; hardware noise from gaps in a busy loop"));
  const Support sched = scheduling(kernel);
  for (const std::string_view name : {"wakeup", "wakeup_rt", "wakeup_dl"})
    found.push_back(decide(fmt::format("worst {}", name), kernel.tracer(name),
                           fmt::format("the kernel's {} tracer", name), sched,
                           "BPF at wake-up and switch"));
  for (const worst_tracer tracer : {WORST_IRQSOFF, WORST_PREEMPTOFF, WORST_PREEMPTIRQSOFF}) {
    const std::string_view name = tracer_name(tracer);
    found.push_back(decide(fmt::format("worst {}", name), kernel.tracer(name),
                           fmt::format("the kernel's {} tracer", name),
                           support_of_sections(tracer, kernel),
                           "a lower bound, from late timers and from CPUs that could not switch"));
  }
  found.push_back(decide("worst hwlat", kernel.tracer("hwlat"), "the kernel's hwlat tracer",
                         interrupts(kernel),
                         "a busy loop that real-time priority protects, less the interrupts seen"));
}

void add_functions(const Kernel& kernel, std::vector<CommandFinding>& found) {
  Support any_function = kernel.function_tracer();
  Support graph = kernel.tracer("function_graph");
  if (graph.yes) graph = kernel.function_tracer();
  found.push_back(decide("func", std::move(any_function),
                         "the kernel's function tracer; uprobes for programs", kernel.uprobe(),
                         "functions of programs (--user) only, by uprobe"));
  found.push_back(decide("graph", std::move(graph),
                         "the kernel's function_graph tracer; uprobes for programs",
                         kernel.uprobe(), "functions of programs (--user) only, by uprobe"));
}

}  // namespace

const CommandFinding& Diagnosis::command(std::string_view name) const {
  const auto found = std::ranges::find(commands, name, &CommandFinding::name);
  if (found == commands.end()) throw Error("no finding about {}", name);
  return *found;
}

bool Diagnosis::works() const {
  return std::ranges::any_of(commands, [](const CommandFinding& finding) {
    return finding.name == "syscalls" && finding.availability == Availability::natively;
  });
}

std::uint64_t floor_ns(const Calibration& calibration) {
  const double unrest = calibration.base_ns * calibration.spread;
  return static_cast<std::uint64_t>(std::ceil(std::max(calibration.cost_ns(), unrest)));
}

double bystander_cost_ns(const Calibration& calibration) {
  return std::max(0.0, calibration.bystander_ns - calibration.base_ns);
}

std::vector<CommandFinding> find_commands(const Kernel& kernel,
                                          std::span<const std::string_view> planned) {
  std::vector<CommandFinding> found;
  const std::initializer_list<std::string_view> of_stalls = {"sys_enter", "sys_exit",
                                                             "sched_switch", "sched_waking"};
  found.push_back(decide("why", kernel.session(of_stalls), "typed tracepoints, cpu-clock"));
  found.push_back(find_syscalls(kernel));
  found.push_back(decide("stalls", kernel.session(of_stalls), "typed tracepoints"));
  found.push_back(decide("offcpu", scheduling(kernel), "typed tracepoints"));
  add_sampling(kernel, found);
  add_latency_tracers(kernel, found);
  add_functions(kernel, found);
  found.push_back(find_io(kernel));
  found.push_back(decide("record", syscalls(kernel), "typed tracepoints"));
  found.push_back(decide("report", {}, "reads files"));
  found.push_back(decide("export", {}, "reads files"));
  found.push_back(decide("top", kernel.session(of_stalls), "typed tracepoints, cpu-clock"));
  found.push_back(decide("serve", syscalls(kernel), "typed tracepoints"));
  found.push_back(decide("ftrace", kernel.tracefs(), "tracefs"));
  found.push_back(decide("ctl", {}, "a socket in /run/overdue"));
  for (CommandFinding& finding : found) {
    const std::string_view command =
        std::string_view(finding.name).substr(0, finding.name.find(' '));
    const auto is_planned = [&](std::string_view name) {
      return std::find(planned.begin(), planned.end(), name) != planned.end();
    };
    finding.in_version = !is_planned(command) && !is_planned(finding.name);
  }
  return found;
}

}  // namespace overdue
