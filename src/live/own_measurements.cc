#include "live/own_measurements.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "core/latency_window.h"
#include "core/preemption.h"
#include "kernel/preemption.h"
#include "live/app_timers_probe_set.h"
#include "live/osnoise_probe_set.h"
#include "live/own_settings.h"
#include "live/timerlat_probe_set.h"
#include "live/worst_probe_set.h"
#include "report/app_timers/view.h"
#include "report/hwlat/view.h"
#include "report/osnoise/figures.h"
#include "report/timerlat/figures.h"
#include "report/worst/view.h"
#include "source/starvation_watch.h"

namespace overdue {
namespace {

std::string_view name_in(std::string_view word) {
  return word.substr(0, word.find(':'));
}

worst_tracer latency_called(const std::string& name) {
  if (name.empty()) return WORST_WAKEUP;
  std::string names;
  for (u16 tracer = WORST_WAKEUP; tracer <= WORST_PREEMPTIRQSOFF; ++tracer) {
    if (name == tracer_name(tracer)) return static_cast<worst_tracer>(tracer);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", tracer_name(tracer));
  }
  throw Error("--events worst: unknown latency '{}'", printable(name)).hint(names).exit_status(2);
}

}  // namespace

struct OwnMeasurements::Impl {
  std::optional<TimerThreads> timer_threads;
  std::optional<BusyThreads> busy_threads;
  std::vector<std::unique_ptr<ProbeSet>> sets;
  WindowProbeSet* windows = nullptr;  ///< one of `sets`, or null
  std::size_t keep = 0;               ///< number of windows to keep; 0: all
  std::multiset<std::uint64_t> kept;  ///< latencies of the windows that are kept
  KeptOptions options;

  void keep_options(std::string_view name, const KeptOptions& of_plan) {
    for (const auto& [key, value] : of_plan) options[fmt::format("{}.{}", name, key)] = value;
  }
  void add_timerlat(OwnSettings& given, const std::vector<std::uint32_t>& cpus);
  void add_osnoise(OwnSettings& given, const std::vector<std::uint32_t>& cpus);
  void add_app_timers(OwnSettings& given);
  void add_worst(OwnSettings& given, bool whole_machine);
  void add_hwlat(OwnSettings& given, const std::vector<std::uint32_t>& cpus);
};

void OwnMeasurements::Impl::add_timerlat(OwnSettings& given,
                                         const std::vector<std::uint32_t>& cpus) {
  TimerlatPlan plan{.cpus = cpus};
  plan.period_ns = given.ns("period", plan.period_ns);
  plan.priority = static_cast<int>(given.number("priority", 95));
  plan.stack_over_ns = given.ns("stack", 0);
  given.check_all_known();
  check(plan);
  timer_threads.emplace(overdue::timer_threads(plan));
  sets.push_back(std::make_unique<TimerlatProbeSet>(timerlat_options(plan), cpus, *timer_threads));
  keep_options("timerlat", kept_options(plan));
}

void OwnMeasurements::Impl::add_osnoise(OwnSettings& given,
                                        const std::vector<std::uint32_t>& cpus) {
  OsnoisePlan plan{.cpus = cpus, .origins = true};
  plan.period_ns = given.ns("period", plan.period_ns);
  plan.runtime_ns = given.ns("runtime", plan.period_ns / 10 * 9);
  plan.threshold_ns = given.ns("threshold", plan.threshold_ns);
  plan.priority = static_cast<int>(given.number("priority", 0));
  given.check_all_known();
  check(plan);
  if (plan.priority > 0) check_real_time_budget();
  busy_threads.emplace(overdue::busy_threads(plan));
  sets.push_back(std::make_unique<OsnoiseProbeSet>(*busy_threads));
  keep_options("osnoise", kept_options(plan));
}

void OwnMeasurements::Impl::add_app_timers(OwnSettings& given) {
  const Duration stack_over = given.duration("stack", Duration{});
  given.check_all_known();
  sets.push_back(
      std::make_unique<AppTimersProbeSet>(AppTimersOptions{.stack_over = stack_over, .cpus = {}}));
  keep_options("app_timers", kept_options(AppTimersPlan{}));
}

void OwnMeasurements::Impl::add_worst(OwnSettings& given, bool whole_machine) {
  WorstOptions wanted{.tracer = latency_called(given.latency()), .whole_machine = whole_machine};
  wanted.threshold = given.duration("threshold", Duration{});
  wanted.keep = given.number("keep", wanted.threshold == Duration{} ? 1 : 0);
  given.check_all_known();
  if (wanted.keep > worst_kept_at_most || (wanted.keep == 0 && wanted.threshold == Duration{}))
    throw Error("--events worst: keep={} is not a number of latencies to keep", wanted.keep)
        .hint(fmt::format("1 to {}; with a threshold, 0 keeps all", worst_kept_at_most))
        .exit_status(2);
  std::unique_ptr<WindowProbeSet> set;
  if (is_exact(wanted.tracer))
    set = std::make_unique<WorstProbeSet>(wanted);
  else
    set = std::make_unique<SectionProbeSet>(wanted);
  windows = set.get();
  keep = wanted.keep;
  sets.push_back(std::move(set));
  keep_options("worst", kept_options(WorstPlan{.keep = keep, .preemption = read_preemption()}));
  options["worst.latency"] = tracer_name(wanted.tracer);
}

void OwnMeasurements::Impl::add_hwlat(OwnSettings& given, const std::vector<std::uint32_t>& cpus) {
  HwlatPlan plan;
  plan.threshold = given.duration("threshold", plan.threshold);
  plan.width = given.duration("width", plan.width);
  plan.window = given.duration("window", plan.window);
  given.check_all_known();
  check(plan);
  check_real_time_budget();
  busy_threads.emplace(overdue::busy_threads(plan, cpus));
  sets.push_back(std::make_unique<OsnoiseProbeSet>(*busy_threads));
  keep_options("hwlat", kept_options(plan));
}

OwnMeasurements::OwnMeasurements(const std::vector<std::string>& chosen,
                                 const std::vector<std::uint32_t>& cpus, bool whole_machine)
    : impl_(std::make_unique<Impl>()) {
  std::map<std::string, OwnSettings> measurements;
  for (const std::string& word : chosen) {
    const OwnSettings given(word);
    if (!measurements.emplace(given.name(), given).second)
      throw Error("--events: {} is there twice, and a session measures it once", given.name())
          .hint("leave one of them out")
          .exit_status(2);
    if (!given.latency().empty() && given.name() != "worst")
      throw Error("--events {}: '{}' is no setting", given.name(), printable(given.latency()))
          .hint(fmt::format("{}:KEY=VALUE", given.name()))
          .exit_status(2);
  }
  if (measurements.contains("timerlat") + measurements.contains("osnoise") +
          measurements.contains("hwlat") >
      1)
    throw Error(
        "timerlat, osnoise and hwlat have threads of their own, and would measure each "
        "other")
        .hint("record them one after the other")
        .exit_status(2);
  for (auto& [name, given] : measurements) {
    if (name == "timerlat") impl_->add_timerlat(given, cpus);
    if (name == "osnoise") impl_->add_osnoise(given, cpus);
    if (name == "app_timers") impl_->add_app_timers(given);
    if (name == "worst") impl_->add_worst(given, whole_machine);
    if (name == "hwlat") impl_->add_hwlat(given, cpus);
  }
}

OwnMeasurements::~OwnMeasurements() = default;

bool OwnMeasurements::knows(std::string_view word) {
  return std::ranges::find(names, name_in(word)) != names.end();
}

void OwnMeasurements::recorded(const Record& record) {
  if (!impl_->windows || impl_->keep == 0 || record.schema->id != RECORD_WORST_WINDOW) return;
  std::multiset<std::uint64_t>& kept = impl_->kept;
  kept.insert(record.as<worst_window>().latency_ns);
  if (kept.size() > impl_->keep) kept.erase(kept.begin());
  if (kept.size() == impl_->keep) impl_->windows->raise_bar(*kept.begin());
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
