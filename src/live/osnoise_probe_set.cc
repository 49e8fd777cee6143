#include "live/osnoise_probe_set.h"

#include <fmt/format.h>

#include "base/error.h"
#include "sinks/text_format.h"

namespace overdue {

BusyOptions busy_threads(const OsnoisePlan& plan) {
  return {.cpus = plan.cpus,
          .period = Duration(plan.period_ns),
          .runtime = Duration(plan.runtime_ns),
          .threshold = Duration(plan.threshold_ns),
          .stop_single = Duration(plan.stop_single_ns),
          .stop_total = Duration(plan.stop_total_ns),
          .priority = plan.priority,
          .origins = plan.origins};
}

BusyOptions busy_threads(const HwlatPlan& plan, const std::vector<std::uint32_t>& cpus) {
  constexpr int priority = 50;  // keeps ordinary threads away, but not the kernel's own work
  return {.cpus = cpus,
          .period = plan.window,
          .runtime = plan.width,
          .threshold = plan.threshold,
          .priority = priority,
          .in_turn = true};
}

void OsnoiseProbeSet::add_to(Session& session, const Kernel&, const std::vector<std::uint32_t>&) {
  const Membership& membership = session.membership();
  auto probe =
      std::make_unique<OsnoiseProbe>(threads_, membership.maps(), membership.cgroup_hierarchy());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void OsnoiseProbeSet::armed(KernelTime start) {
  start_ = start;
  probe_->begin();
}

void OsnoiseProbeSet::poll(KernelTime, const RecordHandler& handler) {
  check_hooks();
  probe_->poll(handler);
}

KernelTime OsnoiseProbeSet::ending() {
  check_hooks();
  const BusyOptions& options = threads_.options();
  const std::size_t turns = options.in_turn ? options.cpus.size() : 1;
  has_had_time_ = KernelClock::now() - start_ > options.period * turns;
  return KernelTime::max();
}

/// Without the hooks, every noise would look like hardware noise.
void OsnoiseProbeSet::check_hooks() const {
  if (const auto cpu = threads_.blind_cpu())
    throw Error("Overdue saw no switch of its own thread on CPU {}: its hooks do not run there",
                *cpu)
        .hint("overdue doctor; or --backend kernel, where the kernel has that tracer");
}

std::vector<std::string> OsnoiseProbeSet::notes() const {
  std::vector<std::string> notes;
  for (const BusyThreads::State& state : threads_.states())
    if (has_had_time_ && state.periods == 0)
      notes.push_back(
          state.has_run
              ? fmt::format("CPU {}: Overdue's thread ran there and finished no period", state.cpu)
              : fmt::format("CPU {}: Overdue's thread did not get to run there (what has that CPU: "
                            "ps -eLo cls,rtprio,psr,pcpu,comm)",
                            state.cpu));
  if (const std::uint64_t unseen = threads_.unseen(); unseen > 0)
    notes.push_back(fmt::format(
        "another thread ran in {}, and the kernel reported no switch: they count for a thread "
        "without a name",
        counted(unseen, "noise")));
  if (const std::uint64_t unreported = threads_.unreported(); unreported > 0)
    notes.push_back(fmt::format(
        "only the latest {} interferences of a noise are reported; the time of {} more is in the "
        "residual",
        OSNOISE_NOISES_MAX, grouped(unreported)));
  return notes;
}

}  // namespace overdue
