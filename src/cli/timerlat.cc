// `overdue timerlat`: how late timers fire and threads run, and what delayed them.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "live/app_timers_probe_set.h"
#include "live/timerlat_kernel.h"
#include "live/timerlat_probe_set.h"
#include "report/app_timers/view.h"
#include "report/output.h"
#include "report/timerlat/view.h"
#include "resolve/kernel_stacks.h"
#include "sinks/make_sink.h"
#include "source/measure.h"
#include "source/osnoise_tracer_options.h"
#include "source/run_session.h"
#include "source/say.h"
#include "source/starvation_watch.h"
#include "source/trace_saver.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

class TimerlatCommand final : public Command {
 public:
  std::string_view name() const override { return "timerlat"; }

  void add_options(CLI::App& app) override {
    add_whom_options(app, target_, "--pid");
    app.add_option("--cpu", cpus_);
    app.add_option("-p,--period", period_);
    app.add_option("-P,--priority", priority_);
    app.add_option("-s,--stop-irq", stop_irq_);
    app.add_option("-T,--stop-total", stop_total_);
    app.add_option("--stack", stack_);
    app.add_flag("--user", user_);
    app.add_flag("--trace", trace_);
    app.add_flag("--noise", noise_);
    app.add_flag("--hist", histogram_);
    app.add_option("-b,--bucket", bucket_);
    app.add_option("-E,--entries", entries_);
    app.add_option("--dma-latency", dma_latency_);
    app.add_option("--backend", backend_);
    app.add_option("--tracer-option", tracer_options_)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->take_all();
    add_stop_options(app, stop_);
    add_kernel_options(app, kernel_options_);
    app.add_option("--save", save_);
    app.add_option("-i,--interval", output_.interval);
    app.add_option("-f,--format", output_.format);
    app.add_option("-o,--output", output_.file);
    app.add_flag("--stdout", output_.to_stdout);
    app.add_flag("-q,--quiet", output_.quiet);
    app.add_flag("-v,--verbose", output_.verbose);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  void check_format() const;
  void check_backend() const;
  TimerlatPlan plan() const;
  Fd hold_dma_latency() const;
  MeasureRequest request(const TimerlatPlan& plan, bool live) const;
  Duration limit(const std::optional<std::string>& text, std::string_view option) const;
  std::string period_text() const { return period_.value_or("1000"); }
  void warn_of_process() const;
  int measure_app_timers(const Invocation& invocation);
  int measure_with_bpf(const TimerlatPlan& plan, bool live);
  int measure_with_tracer(const TimerlatPlan& plan, bool live);
  bool is_for_the_tracer() const;

  TargetOptions target_;
  std::optional<std::string> cpus_;
  std::optional<std::string> period_;
  int priority_ = 95;
  std::optional<std::string> stop_irq_, stop_total_, stack_;
  bool user_ = false, trace_ = false, noise_ = false, histogram_ = false;
  std::string bucket_ = "1";
  std::size_t entries_ = 256;
  std::optional<std::int32_t> dma_latency_;
  std::string backend_ = "auto";
  std::vector<std::string> tracer_options_;
  std::string save_;
  StopOptions stop_;
  KernelOptions kernel_options_;
  std::unique_ptr<Kernel> kernel_;  ///< set by run()
  OutputOptions output_;
};

void TimerlatCommand::check_format() const {
  check_sink_format(output_.format);
  if (trace_) refuse_stream_on_page(output_.format, "--trace");
  const auto refuse = [](std::string_view one, std::string_view other, std::string_view instead) {
    throw Error("{} and {} do not go together", one, other)
        .hint(std::string(instead))
        .exit_status(2);
  };
  if (output_.format == "json" && output_.interval)
    refuse("-f json", "--interval", "use -f ndjson: one JSON object a line");
  if (output_.format == "json" && trace_)
    refuse("-f json", "--trace", "use -f ndjson: one JSON object a line");
  if (trace_ && histogram_) refuse("--trace", "--hist", "leave one of them out");
  if (trace_ && output_.interval) refuse("--trace", "--interval", "leave one of them out");
  if (noise_ && !trace_) refuse("--noise", "a table", "give --trace too");
}

void TimerlatCommand::check_backend() const {
  check_tracer_words(backend_, tracer_options_);
  for (const std::string& option : tracer_options_)
    if (user_ && option.ends_with("OSNOISE_WORKLOAD"))
      throw Error("--user conflicts with {}: both choose the measured threads", option)
          .hint("--user alone measures ours, NO_OSNOISE_WORKLOAD alone those of a program")
          .exit_status(2);
}

Duration TimerlatCommand::limit(const std::optional<std::string>& text,
                                std::string_view option) const {
  return text ? parse_us(*text, option) : Duration{};
}

/// -p is the period here, but a process in other commands: warns if there is such a process.
void TimerlatCommand::warn_of_process() const {
  if (!period_ || output_.quiet || !parse_u32(*period_)) return;
  if (access(fmt::format("/proc/{}", *period_).c_str(), F_OK) == 0)
    say("overdue: -p {0} is the period, in us; --pid {0} measures the process of that number\n",
        *period_);
}

TimerlatPlan TimerlatCommand::plan() const {
  TimerlatPlan plan;
  const auto ns = [](Duration duration) { return std::uint64_t{duration.count()}; };
  plan.cpus = cpus_ ? parse_cpu_list(*cpus_, possible_cpus()) : online_cpus();
  plan.period_ns = ns(parse_us(period_text(), "--period"));
  plan.priority = priority_;
  check(plan);
  plan.stop_irq_ns = ns(limit(stop_irq_, "--stop-irq"));
  plan.stop_total_ns = ns(limit(stop_total_, "--stop-total"));
  plan.stack_over_ns = ns(limit(stack_, "--stack"));
  plan.user = user_;
  for (const std::string& option : tracer_options_)
    if (option.ends_with("OSNOISE_WORKLOAD")) plan.of_program = option.starts_with("NO_");
  plan.trace = trace_;
  plan.noise = noise_;
  plan.histogram = histogram_;
  plan.bucket_ns = ns(parse_us(bucket_, "--bucket"));
  plan.buckets = entries_;
  if (plan.bucket_ns == 0 || plan.buckets == 0 || plan.buckets > 100'000)
    throw Error("bad histogram: {} buckets of {}", entries_, printable(bucket_))
        .hint("--bucket 1 --entries 256 is the default")
        .exit_status(2);
  return plan;
}

/// CPUs sleep no deeper than --dma-latency allows until the descriptor is closed.
Fd TimerlatCommand::hold_dma_latency() const {
  if (!dma_latency_) return {};
  constexpr const char* path = "/dev/cpu_dma_latency";
  Fd fd(check_errno(open(path, O_WRONLY | O_CLOEXEC), "cannot open {}", path));
  check_errno(static_cast<int>(write(fd.get(), &*dma_latency_, sizeof *dma_latency_)),
              "cannot ask for a latency of {} us of {}", *dma_latency_, path);
  return fd;
}

MeasureRequest TimerlatCommand::request(const TimerlatPlan& plan, bool live) const {
  MeasureRequest request =
      request_of_workload("timerlat", plan.cpus, cpus_, stop_, output_, live, trace_);
  request.options = kept_options(plan);
  return request;
}

int TimerlatCommand::measure_with_bpf(const TimerlatPlan& plan, bool live) {
  const MeasureRequest request = this->request(plan, live);
  require_capabilities("timerlat", measuring_capabilities());
  TimerThreads threads(timer_threads(plan));
  const Fd dma_latency = hold_dma_latency();
  TimerlatProbeSet probe_set(timerlat_options(plan), plan.cpus, threads);
  KernelStacks stacks;
  TimerlatView view(plan, output_, live, stacks);
  SavingListener saving(view, save_, &stacks);
  const int status = measure(request, *kernel_, probe_set, saving);
  if (threads.starved()) throw_starved();
  return status;
}

int TimerlatCommand::measure_with_tracer(const TimerlatPlan& plan, bool live) {
  if (plan.period_ns % 1000 != 0)
    throw Error("the kernel's tracer has periods of whole microseconds, not of {}",
                printable(period_text()))
        .hint("leave the fraction out, or use --backend bpf")
        .exit_status(2);
  const MeasureRequest request = this->request(plan, live);
  TimerlatTracer tracer(
      plan,
      {.cpus_text = cpus_.value_or(""), .options = tracer_options_, .verbose = request.verbose},
      *kernel_);
  KernelStacks stacks;
  TimerlatView view(plan, output_, live, stacks);
  SavingListener saving(view, save_, &stacks);
  const Fd dma_latency = hold_dma_latency();
  const int status = run_session(run_request(request), tracer.source(), saving);
  if (tracer.starved()) throw_starved();
  return status;
}

/// Whether the kernel's own tracer works where the kernel refuses BPF.
bool TimerlatCommand::is_for_the_tracer() const {
  const auto tracefs = kernel_->tracefs_path();
  return (!user_ || (tracefs && tracer_sees_programs(*tracefs))) &&
         !timerlat_probe.support(*kernel_).yes && kernel_->tracer("timerlat").yes;
}

/// Measures app timers of the target, instead of workload threads.
int TimerlatCommand::measure_app_timers(const Invocation& invocation) {
  check_program(invocation, "overdue timerlat -- sleep 1");
  if (backend_ == "kernel")
    throw Error("the kernel's tracer knows no target: it has threads of its own")
        .hint("leave the target out, or use --backend bpf")
        .exit_status(2);
  if (histogram_ || noise_ || dma_latency_ || (trace_ && output_.format == "text"))
    throw Error("{} is not for a target's own timers", histogram_     ? "--hist"
                                                       : noise_       ? "--noise"
                                                       : dma_latency_ ? "--dma-latency"
                                                                      : "--trace as text")
        .hint("--trace -f ndjson or csv has a line for each wake-up")
        .exit_status(2);
  const auto ns = [&](const std::optional<std::string>& text, std::string_view option) {
    return std::uint64_t{limit(text, option).count()};
  };
  target_.cpus = cpus_;
  MeasureRequest request = request_of_target("timerlat", invocation, target_, stop_, output_);
  request.streams = trace_ || request.interval.has_value();
  const AppTimersPlan plan{.stop_irq_ns = ns(stop_irq_, "--stop-irq"),
                           .stop_total_ns = ns(stop_total_, "--stop-total"),
                           .user = user_,
                           .trace = trace_,
                           .spawned = invocation.has_program};
  AppTimersProbeSet probe_set({.stack_over = limit(stack_, "--stack"), .cpus = {}});
  request.options = kept_options(plan);
  KernelStacks stacks;
  AppTimersView view(plan, output_, stacks);
  SavingListener saving(view, save_, &stacks);
  return measure(request, *kernel_, probe_set, saving);
}

int TimerlatCommand::run(const Invocation& invocation) {
  check_format();
  check_backend();
  kernel_ = kernel_options_.open();
  if (invocation.has_program || target_.chooses_threads()) return measure_app_timers(invocation);
  const TimerlatPlan plan = this->plan();
  warn_of_process();
  const bool live = !trace_ && !histogram_ && goes_to_a_terminal(output_);
  if (backend_ == "kernel") return measure_with_tracer(plan, live);
  try {
    return measure_with_bpf(plan, live);
  } catch (const Error&) {
    if (backend_ == "bpf" || !is_for_the_tracer()) throw;
  }
  return measure_with_tracer(plan, live);
}

}  // namespace

std::unique_ptr<Command> make_timerlat_command() {
  return std::make_unique<TimerlatCommand>();
}

}  // namespace overdue
