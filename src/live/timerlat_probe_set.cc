#include "live/timerlat_probe_set.h"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::chrono::seconds patience{1};

/// The shortest silence that can explain a stop, but at least two periods: the CPU's own timer,
/// which ends a silence, may itself be late.
Duration silence_over(const TimerlatPlan& plan) {
  std::uint64_t limit_ns = UINT64_MAX;
  for (const std::uint64_t each : {plan.stop_irq_ns, plan.stop_total_ns})
    if (each > 0) limit_ns = std::min(limit_ns, each);
  if (limit_ns == UINT64_MAX) return {};
  return Duration(std::max(limit_ns / 2, 2 * plan.period_ns));
}

}  // namespace

TimerlatOptions timerlat_options(const TimerlatPlan& plan) {
  TimerlatOptions options;
  options.stop_irq = Duration(plan.stop_irq_ns);
  options.stop_total = Duration(plan.stop_total_ns);
  if (plan.user) options.stop_user = Duration(plan.stop_total_ns);
  options.stack_over = Duration(plan.stack_over_ns);
  options.silence_over = silence_over(plan);
  return options;
}

TimerThreadOptions timer_threads(const TimerlatPlan& plan) {
  return {.cpus = plan.cpus, .period = Duration(plan.period_ns), .priority = plan.priority};
}

void TimerlatProbeSet::add_to(Session& session, const Kernel&, const std::vector<std::uint32_t>&) {
  auto probe = std::make_unique<TimerlatProbe>(options_, session.membership().maps());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void TimerlatProbeSet::armed(KernelTime) {
  std::vector<timerlat_slot*> slots;
  for (const std::uint32_t cpu : cpus_) slots.push_back(&probe_->slot(cpu));
  threads_.begin(slots, probe_->stopping());
}

void TimerlatProbeSet::poll(KernelTime now, const RecordHandler&) {
  if (__atomic_load_n(&probe_->stopping(), __ATOMIC_RELAXED) == 0) return;
  if (!stopping_since_) stopping_since_ = now;
  stuck_ = !probe_->finished() && now - *stopping_since_ > patience;
}

/// The session ends before the threads: on a busy machine Overdue may wait long for their end, and
/// periods that they miss meanwhile do not count.
KernelTime TimerlatProbeSet::ending() {
  const KernelTime end = KernelClock::now();
  threads_.end();
  return end;
}

void TimerlatProbeSet::finish(const RecordHandler& handler) {
  const std::vector<std::uint64_t> missed = threads_.missed(), wakings = threads_.wakings();
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    timerlat_cpu record =
        cpu_at_end(cpus_[i], missed[i], wakings[i] > 0 ? TIMERLAT_NO_HOOKS : TIMERLAT_NOT_RUN);
    record.wakings = wakings[i];
    const timerlat_slot& slot = probe_->slot(cpus_[i]);
    record.silences = std::min<u32>(slot.silences, SILENCES_KEPT);
    std::copy(std::begin(slot.silence), std::end(slot.silence), std::begin(record.silence));
    handler({&timerlat_cpu_schema, std::as_bytes(std::span(&record, 1))});
  }
}

std::vector<std::string> TimerlatProbeSet::notes() const {
  std::vector<std::string> notes = notes_of_missed(cpus_, threads_.missed());
  if (stuck_)
    notes.push_back(fmt::format("the thread of CPU {} was over the limit, and has not run since",
                                probe_->stopping() - 1));
  return notes;
}

}  // namespace overdue
