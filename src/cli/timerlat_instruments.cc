#include "cli/timerlat_instruments.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::chrono::seconds patience{1};

}  // namespace

void TimerlatInstruments::add_to(Session& session, const Kernel&,
                                 const std::vector<std::uint32_t>&) {
  auto probe = std::make_unique<TimerlatProbe>(options_, session.membership().maps());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void TimerlatInstruments::armed(KernelTime) {
  std::vector<timerlat_slot*> slots;
  for (const std::uint32_t cpu : cpus_) slots.push_back(&probe_->slot(cpu));
  threads_.begin(slots, probe_->stopping());
}

void TimerlatInstruments::poll(KernelTime now, const RecordHandler&) {
  if (__atomic_load_n(&probe_->stopping(), __ATOMIC_RELAXED) == 0) return;
  if (!stopping_since_) stopping_since_ = now;
  stuck_ = !probe_->finished() && now - *stopping_since_ > patience;
}

/// The session ends before the threads do: on a busy machine Overdue may wait long for their end,
/// and what they miss meanwhile does not count.
KernelTime TimerlatInstruments::ending() {
  const KernelTime end = KernelClock::now();
  threads_.end();
  return end;
}

std::vector<CpuSilences> TimerlatInstruments::silences() const {
  std::vector<CpuSilences> all;
  for (const std::uint32_t cpu : cpus_) {
    const timerlat_slot& slot = probe_->slot(cpu);
    const std::size_t kept = std::min<std::size_t>(slot.silences, SILENCES_KEPT);
    all.push_back({cpu, {slot.silence, slot.silence + kept}});
  }
  return all;
}

std::string TimerlatInstruments::why_none(std::uint32_t cpu) const {
  const std::vector<std::uint64_t> wakings = threads_.wakings();
  for (std::size_t i = 0; i < cpus_.size(); ++i)
    if (cpus_[i] == cpu && wakings[i] > 0)
      return fmt::format(
          "its thread woke {}, so Overdue's hooks do not run there, or its timers expire on other "
          "CPUs (nohz_full: sysctl kernel.timer_migration=0)",
          counted(wakings[i], "time"));
  return "its thread did not get to run (what has that CPU: ps -eLo cls,rtprio,psr,pcpu,comm)";
}

std::vector<std::string> TimerlatInstruments::notes() const {
  std::vector<std::string> notes = notes_of_missed(cpus_, threads_.missed());
  if (stuck_)
    notes.push_back(fmt::format("the thread of CPU {} was over the limit, and has not run since",
                                probe_->stopping() - 1));
  return notes;
}

}  // namespace overdue
