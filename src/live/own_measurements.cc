#include "live/own_measurements.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "core/latency_window.h"
#include "core/preemption.h"
#include "kernel/preemption.h"
#include "live/app_timers_probe_set.h"
#include "live/osnoise_probe_set.h"
#include "live/timerlat_probe_set.h"
#include "live/worst_probe_set.h"
#include "report/app_timers/view.h"
#include "report/osnoise/figures.h"
#include "report/timerlat/figures.h"
#include "report/worst/view.h"
#include "source/starvation_watch.h"

namespace overdue {
namespace {

constexpr std::array exact_latencies = {WORST_WAKEUP, WORST_WAKEUP_RT, WORST_WAKEUP_DL};
constexpr std::string_view of_worst = "worst:";

std::optional<worst_tracer> latency_called(std::string_view name) {
  if (name == "worst") return WORST_WAKEUP;
  if (!name.starts_with(of_worst)) return std::nullopt;
  const auto found = std::ranges::find(exact_latencies, name.substr(of_worst.size()), tracer_name);
  if (found == exact_latencies.end()) return std::nullopt;
  return *found;
}

/// The longest wake-up: each that is found raises the bar for the next.
class LongestWakeup final : public ProbeSet {
 public:
  explicit LongestWakeup(const WorstOptions& options) : wakeups_(options) {}

  std::string_view purpose() const override { return wakeups_.purpose(); }
  Support support(const Kernel& kernel) const override { return wakeups_.support(kernel); }
  std::size_t ring_bytes() const override { return wakeups_.ring_bytes(); }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override {
    wakeups_.add_to(session, kernel, cpus);
  }
  std::uint64_t events_in(const Record& record) const override {
    return wakeups_.events_in(record);
  }
  std::uint64_t events() const override { return wakeups_.events(); }
  Duration poll_every() const override { return wakeups_.poll_every(); }
  void poll(KernelTime now, const RecordHandler& handler) override {
    wakeups_.poll(now, [&](const Record& record) {
      if (record.schema->id == RECORD_WORST_WINDOW)
        wakeups_.raise_bar(record.as<worst_window>().latency_ns);
      handler(record);
    });
  }
  std::vector<std::string> notes() const override { return wakeups_.notes(); }

 private:
  WorstProbeSet wakeups_;
};

}  // namespace

struct OwnMeasurements::Impl {
  std::optional<TimerThreads> timer_threads;
  std::optional<BusyThreads> busy_threads;
  std::vector<std::unique_ptr<ProbeSet>> sets;
  KeptOptions options;

  void keep(std::string_view name, const KeptOptions& of_plan) {
    for (const auto& [key, value] : of_plan) options[fmt::format("{}.{}", name, key)] = value;
  }
  void add_timerlat(const std::vector<std::uint32_t>& cpus);
  void add_osnoise(const std::vector<std::uint32_t>& cpus);
  void add_app_timers();
  void add_worst(worst_tracer latency, bool whole_machine);
};

void OwnMeasurements::Impl::add_timerlat(const std::vector<std::uint32_t>& cpus) {
  const TimerlatPlan plan{.cpus = cpus};
  timer_threads.emplace(TimerThreadOptions{
      .cpus = cpus, .period = Duration(plan.period_ns), .priority = plan.priority});
  sets.push_back(std::make_unique<TimerlatProbeSet>(timerlat_options(plan), cpus, *timer_threads));
  keep("timerlat", kept_options(plan));
}

void OwnMeasurements::Impl::add_osnoise(const std::vector<std::uint32_t>& cpus) {
  const OsnoisePlan plan{.cpus = cpus, .origins = true};
  busy_threads.emplace(BusyOptions{.cpus = cpus,
                                   .period = Duration(plan.period_ns),
                                   .runtime = Duration(plan.runtime_ns),
                                   .threshold = Duration(plan.threshold_ns),
                                   .origins = plan.origins});
  sets.push_back(std::make_unique<OsnoiseProbeSet>(*busy_threads));
  keep("osnoise", kept_options(plan));
}

void OwnMeasurements::Impl::add_app_timers() {
  sets.push_back(std::make_unique<AppTimersProbeSet>(AppTimersOptions{}));
  keep("app_timers", kept_options(AppTimersPlan{}));
}

void OwnMeasurements::Impl::add_worst(worst_tracer latency, bool whole_machine) {
  sets.push_back(std::make_unique<LongestWakeup>(
      WorstOptions{.tracer = latency, .whole_machine = whole_machine}));
  keep("worst", kept_options(WorstPlan{.preemption = read_preemption()}));
  options["worst.latency"] = tracer_name(latency);
}

OwnMeasurements::OwnMeasurements(const std::vector<std::string>& chosen,
                                 const std::vector<std::uint32_t>& cpus, bool whole_machine)
    : impl_(std::make_unique<Impl>()) {
  const auto asks_for = [&](std::string_view name) { return std::ranges::count(chosen, name) > 0; };
  if (asks_for("timerlat") && asks_for("osnoise"))
    throw Error("timerlat and osnoise have threads of their own, and would measure each other")
        .hint("record them one after the other")
        .exit_status(2);
  std::vector<worst_tracer> latencies;
  for (const std::string& name : chosen)
    if (const auto latency = latency_called(name)) latencies.push_back(*latency);
  if (latencies.size() > 1)
    throw Error("--events: a session follows one kind of wake-up for `worst`")
        .hint("leave the others out")
        .exit_status(2);
  if (asks_for("timerlat")) impl_->add_timerlat(cpus);
  if (asks_for("osnoise")) impl_->add_osnoise(cpus);
  if (asks_for("app_timers")) impl_->add_app_timers();
  if (!latencies.empty()) impl_->add_worst(latencies.front(), whole_machine);
}

OwnMeasurements::~OwnMeasurements() = default;

bool OwnMeasurements::knows(std::string_view name) {
  return std::ranges::find(names, name) != names.end() || latency_called(name).has_value();
}

std::vector<ProbeSet*> OwnMeasurements::probe_sets() const {
  std::vector<ProbeSet*> sets;
  for (const auto& set : impl_->sets) sets.push_back(set.get());
  return sets;
}

KeptOptions OwnMeasurements::options() const {
  return impl_->options;
}

void OwnMeasurements::check_starved() const {
  const std::optional<TimerThreads>& threads = impl_->timer_threads;
  if (threads && threads->starved()) throw_starved();
}

}  // namespace overdue
