#include "live/osnoise_kernel.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "probes/osnoise/probe.h"
#include "probes/timerlat/threads.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

/// In the order of their restoration. At each write the kernel checks that the period is not
/// shorter than the runtime, so the period is written before and after the runtime.
constexpr std::array<std::string_view, 6> osnoise_settings{
    "period_us",        "runtime_us", "period_us", "stop_tracing_us", "stop_tracing_total_us",
    "../tracing_thresh"};
constexpr std::string_view threshold_file = "../tracing_thresh";
/// The other tracers that use the threshold, which the whole machine shares.
constexpr std::array<std::string_view, 8> threshold_users{
    "wakeup",     "wakeup_rt",      "wakeup_dl", "irqsoff",
    "preemptoff", "preemptirqsoff", "hwlat",     "function_graph"};

std::uint64_t leading_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::uint64_t whole_us(std::uint64_t ns) {
  return (ns + 999) / 1000;
}

OsnoiseTracerRequest common(const OsnoisePlan& plan, const OsnoiseKernelRequest& request) {
  OsnoisePlan kept = plan;
  kept.origins = false;
  OsnoiseTracerRequest asked{.tracer = "osnoise",
                             .cpus = plan.cpus,
                             .cpus_text = request.cpus_text,
                             .options = request.options,
                             .kept = kept_options(kept),
                             .threads_first = false,  // periods begin with the threads
                             .verbose = request.verbose};
  if (plan.priority > 0) asked.priority = plan.priority;
  return asked;
}

}  // namespace

// The tracer's threads begin as ordinary threads. With --priority, the first period is skipped:
// part of it is an ordinary thread's.
OsnoiseKernelTracer::OsnoiseKernelTracer(const OsnoisePlan& plan,
                                         const OsnoiseKernelRequest& request, const Kernel& kernel)
    : plan_(plan),
      assembler_(osnoise_gap_schema, osnoise_sample_schema,
                 {.cpus = plan.cpus,
                  .stop_single_us = whole_us(plan.stop_single_ns),
                  .stop_total_us = whole_us(plan.stop_total_ns),
                  .skip_first = plan.priority > 0},
                 [this](const Record& record) {
                   tracer_.deliver(record, record.schema->id == RECORD_OSNOISE_GAP ? 1 : 0);
                 }),
      tracer_(*this, common(plan, request), kernel) {}

OsnoiseKernelTracer::~OsnoiseKernelTracer() = default;

void OsnoiseKernelTracer::check(const fs::path& tracefs) const {
  if (needs_origins(plan_.by))
    throw Error("the kernel's tracer does not say which process or cgroup a thread belongs to")
        .hint("--by thread, name or pattern; or --backend bpf")
        .exit_status(2);
  if (plan_.priority > 0) check_real_time_budget("/proc", "/nowhere");  // no cgroup applies
  if (leading_number(read_word(tracefs / "tracing_thresh")) * 1000 == plan_.threshold_ns) return;
  for (const auto& [path, tracer] : tracers_in_use(tracefs))
    if (std::find(threshold_users.begin(), threshold_users.end(), tracer) != threshold_users.end())
      throw Error("the kernel's {} tracer is in use, and has the same threshold: see {}", tracer,
                  printable(path.string()))
          .hint("tracing_thresh is one for the whole machine; or use --backend bpf");
}

std::span<const std::string_view> OsnoiseKernelTracer::settings() const {
  return osnoise_settings;
}

void OsnoiseKernelTracer::configure(const TracingSettings& settings) {
  const auto set_period = [&] { settings.set("period_us", in_whole_us(plan_.period_ns)); };
  // The kernel refuses a period that is shorter than the runtime.
  const bool longer = plan_.period_ns >= leading_number(settings.former("runtime_us")) * 1000;
  if (longer) set_period();
  settings.set("runtime_us", in_whole_us(plan_.runtime_ns));
  if (!longer) set_period();
  settings.set("stop_tracing_us", in_whole_us(plan_.stop_single_ns));
  settings.set("stop_tracing_total_us", in_whole_us(plan_.stop_total_ns));
  settings.set(threshold_file, in_whole_us(plan_.threshold_ns));
}

void OsnoiseKernelTracer::prepare(const TracingInstance& instance) {
  instance.write("events/osnoise/enable", "1");
}

std::vector<std::string> OsnoiseKernelTracer::notes() const {
  if (plan_.counts_softirqs) return {};
  return {
      "with PREEMPT_RT the kernel's tracer does not see softirqs: their time is that of "
      "the threads they run in"};
}

}  // namespace overdue
