#include "live/timerlat_kernel.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "probes/timerlat/probe.h"
#include "probes/timerlat/threads.h"
#include "sinks/text_format.h"
#include "source/osnoise_tracer_threads.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view no_workload = "NO_OSNOISE_WORKLOAD";
constexpr std::array<std::string_view, 4> timerlat_settings{"timerlat_period_us", "stop_tracing_us",
                                                            "stop_tracing_total_us", "print_stack"};

/// Field 18 of proc(5): -1 - the real-time priority, or 20 + nice.
std::int16_t kernel_priority_of(std::uint32_t tid) {
  constexpr std::int16_t ordinary = 120;
  const auto text = read_text(fmt::format("/proc/{}/stat", tid));
  if (!text) return ordinary;
  const std::size_t behind_name = text->rfind(')');
  if (behind_name == text->npos) return ordinary;
  const auto words = split(std::string_view(*text).substr(behind_name + 1), ' ');
  constexpr std::size_t field = 15;
  int value = 0;
  if (words.size() <= field ||
      std::from_chars(words[field].data(), words[field].data() + words[field].size(), value).ec !=
          std::errc{})
    return ordinary;
  return static_cast<std::int16_t>(100 + std::clamp(value, -100, 39));
}

OsnoiseTracerRequest common(const TimerlatPlan& plan, const TimerlatTracerRequest& request) {
  OsnoiseTracerRequest asked{.tracer = "timerlat",
                             .cpus = plan.cpus,
                             .cpus_text = request.cpus_text,
                             .options = request.options,
                             .kept = kept_options(plan),
                             .verbose = request.verbose};
  if (plan.priority != priority_of_timerlat) asked.priority = plan.priority;
  asked.kernel_threads = !plan.user && !plan.of_program;
  if (plan.user) asked.options.emplace_back(no_workload);
  return asked;
}

TimerlatAssembler::Options assembling(const TimerlatPlan& plan) {
  TimerlatAssembler::Options options{.cpus = plan.cpus,
                                     .period_ns = plan.period_ns,
                                     .priority_of = kernel_priority_of,
                                     .name_of = {}};
  if (plan.of_program)
    options.name_of = [](std::uint32_t tid) {
      return read_word(fmt::format("/proc/{}/comm", tid));
    };
  return options;
}

}  // namespace

bool tracer_sees_programs(const fs::path& tracefs) {
  std::error_code error;
  return fs::exists(tracefs / "osnoise/per_cpu/cpu0/timerlat_fd", error);
}

TimerlatTracer::TimerlatTracer(const TimerlatPlan& plan, const TimerlatTracerRequest& request,
                               const Kernel& kernel)
    : plan_(plan),
      assembler_(timerlat_activation_schema, assembling(plan),
                 [this](const Record& record) { tracer_.deliver(record); }),
      tracer_(*this, common(plan, request), kernel) {}

TimerlatTracer::~TimerlatTracer() = default;

void TimerlatTracer::check(const fs::path& tracefs) const {
  if (plan_.user)
    check_real_time_budget();
  else if (!plan_.of_program)
    check_real_time_budget("/proc", "/nowhere");  // no cgroup applies to the tracer's threads
  if (tracer_sees_programs(tracefs)) return;
  if (plan_.of_program)
    throw Error(
        "this kernel's tracer measures no program's threads: it has no "
        "osnoise/per_cpu/cpuN/timerlat_fd (Linux 6.5)")
        .hint("leave NO_OSNOISE_WORKLOAD out; or see overdue timerlat with a target");
  if (plan_.user)
    throw Error(
        "this kernel's tracer does not see the way back to a program: it has no "
        "osnoise/per_cpu/cpuN/timerlat_fd (Linux 6.5)")
        .hint("--backend bpf measures it");
}

std::span<const std::string_view> TimerlatTracer::settings() const {
  return timerlat_settings;
}

void TimerlatTracer::configure(const TracingSettings& settings) {
  settings.set("timerlat_period_us", in_whole_us(plan_.period_ns));
  settings.set("stop_tracing_us", in_whole_us(plan_.stop_irq_ns));
  settings.set("stop_tracing_total_us", in_whole_us(plan_.stop_total_ns));
  // An activation that stops the run has the stack of its interrupt.
  std::uint64_t stack_ns = plan_.stack_over_ns;
  if (plan_.stop_total_ns > 0)
    stack_ns = stack_ns > 0 ? std::min(stack_ns, plan_.stop_total_ns) : plan_.stop_total_ns;
  if (settings.has("print_stack"))
    settings.set("print_stack", in_whole_us(stack_ns));
  else if (plan_.stack_over_ns > 0)
    throw Error("this kernel's tracer keeps no stacks").hint("--backend bpf does");
}

/// With its events on, the kernel also learns the names of the threads.
void TimerlatTracer::prepare(const TracingInstance& instance) {
  if (plan_.trace || plan_.stop_irq_ns > 0 || plan_.stop_total_ns > 0)
    instance.write("events/osnoise/enable", "1");
  instance.try_write("options/sym-addr", "1");
  instance.try_write("options/sym-offset", "0");
}

void TimerlatTracer::begin_threads(const fs::path& tracefs, const TracingInstance& instance) {
  if (plan_.user) workers_.emplace(tracefs, instance, plan_.cpus, plan_.priority);
}

void TimerlatTracer::check_threads() {
  if (workers_) workers_->check();
}

void TimerlatTracer::find_what_stopped_it() {
  assembler_.stop_at(plan_.stop_irq_ns, plan_.stop_total_ns);
  if (!assembler_.stopped()) ++went_on_;
}

std::vector<std::string> TimerlatTracer::notes() const {
  std::vector<std::string> notes = notes_of_missed(plan_.cpus, missed());
  const bool has_limit = plan_.stop_irq_ns > 0 || plan_.stop_total_ns > 0;
  if (plan_.of_program && went_on_ > 0)
    notes.push_back(fmt::format(
        "the kernel stopped recording {}, and it went on: a thread that had timerlat_fd open was "
        "moved to another CPU{}",
        counted(went_on_, "time"), has_limit ? ", or was late before it was recorded" : ""));
  return notes;
}

std::vector<std::uint64_t> TimerlatTracer::missed() const {
  std::vector<std::uint64_t> all;
  for (const std::uint32_t cpu : plan_.cpus) all.push_back(assembler_.missed(cpu));
  return all;
}

void TimerlatTracer::finish(const RecordHandler& handler) {
  const std::vector<std::uint64_t> missed = this->missed();
  for (std::size_t i = 0; i < plan_.cpus.size(); ++i) {
    const timerlat_cpu record = cpu_at_end(
        plan_.cpus[i], missed[i], plan_.of_program ? TIMERLAT_NO_READER : TIMERLAT_NOT_WRITTEN);
    handler({&timerlat_cpu_schema, std::as_bytes(std::span(&record, 1))});
  }
}

}  // namespace overdue
