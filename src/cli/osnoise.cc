// `overdue osnoise`: what takes CPU time from a thread that wants all of it.

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "kernel/capabilities.h"
#include "kernel/features.h"
#include "live/osnoise_kernel.h"
#include "live/osnoise_probe_set.h"
#include "probes/timerlat/threads.h"
#include "report/osnoise/view.h"
#include "report/output.h"
#include "resolve/kernel_stacks.h"
#include "sinks/make_sink.h"
#include "source/measure.h"
#include "source/osnoise_tracer_options.h"
#include "source/run_session.h"
#include "source/starvation_watch.h"
#include "source/trace_saver.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

class OsnoiseCommand final : public Command {
 public:
  std::string_view name() const override { return "osnoise"; }

  void add_options(CLI::App& app) override {
    app.add_option("--cpu", cpus_);
    app.add_option("-p,--period", period_);
    app.add_option("-r,--runtime", runtime_);
    app.add_option("-t,--threshold", threshold_);
    app.add_option("-P,--priority", priority_);
    app.add_option("-s,--stop", stop_single_);
    app.add_option("-S,--stop-total", stop_total_);
    app.add_option("--by", by_);
    app.add_flag("--trace", trace_);
    app.add_flag("--hist", histogram_);
    app.add_option("-b,--bucket", bucket_);
    app.add_option("-E,--entries", entries_);
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
    app.add_flag("-q,--quiet", output_.quiet);
    app.add_flag("-v,--verbose", output_.verbose);
  }

  int run(const Invocation& invocation) override;

 private:
  void check_words() const;
  OsnoisePlan plan() const;
  MeasureRequest request(const OsnoisePlan& plan, bool live) const;
  int measure_with_bpf(const OsnoisePlan& plan, bool live) const;
  int measure_with_tracer(const OsnoisePlan& plan, bool live) const;

  std::optional<std::string> cpus_;
  std::string period_ = "1s";
  std::optional<std::string> runtime_;
  std::string threshold_ = "1";
  std::optional<int> priority_;
  std::optional<std::string> stop_single_, stop_total_;
  bool trace_ = false, histogram_ = false;
  std::string by_ = "thread", bucket_ = "1";
  std::size_t entries_ = 256;
  std::string backend_ = "auto";
  std::vector<std::string> tracer_options_;
  std::string save_;
  StopOptions stop_;
  KernelOptions kernel_options_;
  std::unique_ptr<Kernel> kernel_;  ///< set by run()
  OutputOptions output_;
};

void OsnoiseCommand::check_words() const {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw Error("{}", what).hint(std::string(hint)).exit_status(2);
  };
  check_sink_format(output_.format);
  if (trace_) refuse_stream_on_page(output_.format, "--trace");
  if (output_.format == "json" && (output_.interval || trace_))
    refuse(fmt::format("-f json and {} do not go together", trace_ ? "--trace" : "--interval"),
           "use -f ndjson: one JSON object a line");
  if (trace_ && (histogram_ || output_.interval))
    refuse(fmt::format("--trace and {} do not go together", histogram_ ? "--hist" : "--interval"),
           "leave one of them out");
  check_tracer_words(backend_, tracer_options_);
}

OsnoisePlan OsnoiseCommand::plan() const {
  const auto ns = [](const std::string& text, std::string_view option) {
    return std::uint64_t{parse_us(text, option).count()};
  };
  OsnoisePlan plan;
  plan.cpus = cpus_ ? parse_cpu_list(*cpus_, possible_cpus()) : online_cpus();
  plan.period_ns = ns(period_, "--period");
  plan.runtime_ns = runtime_ ? ns(*runtime_, "--runtime") : plan.period_ns / 10 * 9;
  plan.threshold_ns = ns(threshold_, "--threshold");
  plan.priority = priority_.value_or(0);
  if (priority_ && *priority_ == 0)
    throw Error("bad priority 0: not between 1 and 99")
        .hint("without --priority they are ordinary threads")
        .exit_status(2);
  check(plan);
  if (stop_single_) plan.stop_single_ns = ns(*stop_single_, "--stop");
  if (stop_total_) plan.stop_total_ns = ns(*stop_total_, "--stop-total");
  choose_rows(plan, by_);
  plan.origins = needs_origins(plan.by) || !save_.empty();
  plan.trace = trace_;
  plan.histogram = histogram_;
  plan.bucket_ns = ns(bucket_, "--bucket");
  plan.buckets = entries_;
  if (plan.bucket_ns == 0 || plan.buckets == 0 || plan.buckets > 1'000'000)
    throw Error("bad histogram: {} buckets of '{}'", plan.buckets, printable(bucket_))
        .hint("--bucket 1 --entries 256 is the default; at most 1000000 entries")
        .exit_status(2);
  return plan;
}

MeasureRequest OsnoiseCommand::request(const OsnoisePlan& plan, bool live) const {
  MeasureRequest request =
      request_of_workload("osnoise", plan.cpus, cpus_, stop_, output_, live, trace_);
  request.options = kept_options(plan);
  request.by_container = plan.by == Whose::cgroup || !save_.empty();
  return request;
}

int OsnoiseCommand::measure_with_bpf(const OsnoisePlan& plan, bool live) const {
  const MeasureRequest request = this->request(plan, live);
  require_capabilities("osnoise", measuring_capabilities());
  if (plan.priority > 0) check_real_time_budget();
  BusyThreads threads(busy_threads(plan));
  OsnoiseProbeSet probe_set(threads);
  OsnoiseView view(plan, output_, live);
  KernelStacks stacks;
  SavingListener saving(view, save_, &stacks);
  return measure(request, *kernel_, probe_set, saving);
}

int OsnoiseCommand::measure_with_tracer(const OsnoisePlan& plan, bool live) const {
  if (plan.period_ns % 1000 != 0 || plan.runtime_ns % 1000 != 0 || plan.threshold_ns % 1000 != 0)
    throw Error("the kernel's tracer has periods, runtimes and thresholds of whole microseconds")
        .hint("leave the fraction out, or use --backend bpf")
        .exit_status(2);
  const MeasureRequest request = this->request(plan, live);
  OsnoisePlan known = plan;
  known.counts_softirqs = !kernel_->preempt_rt();
  OsnoiseKernelTracer tracer(
      known,
      {.cpus_text = cpus_.value_or(""), .options = tracer_options_, .verbose = request.verbose},
      *kernel_);
  OsnoiseView view(known, output_, live);
  KernelStacks stacks;
  SavingListener saving(view, save_, &stacks);
  const int status = run_session(run_request(request), tracer.source(), saving);
  if (tracer.starved()) throw_starved();
  return status;
}

int OsnoiseCommand::run(const Invocation&) {
  check_words();
  kernel_ = kernel_options_.open();
  const OsnoisePlan plan = this->plan();
  const bool live = !trace_ && !histogram_ && goes_to_a_terminal(output_);
  if (backend_ == "kernel") return measure_with_tracer(plan, live);
  try {
    return measure_with_bpf(plan, live);
  } catch (const Error&) {
    // The kernel's own tracer may work where the kernel refuses BPF.
    if (backend_ == "bpf" || osnoise_probe.support(*kernel_).yes || !kernel_->tracer("osnoise").yes)
      throw;
  }
  return measure_with_tracer(plan, live);
}

}  // namespace

std::unique_ptr<Command> make_osnoise_command() {
  return std::make_unique<OsnoiseCommand>();
}

}  // namespace overdue
