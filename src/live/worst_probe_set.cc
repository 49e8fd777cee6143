#include "live/worst_probe_set.h"

#include <fmt/format.h>

#include "base/text.h"
#include "core/latency_window.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

/// The threads whose wake-ups a tracer tracks.
std::string_view whose(worst_tracer tracer, bool whole_machine) {
  if (tracer == WORST_WAKEUP_DL) return "a thread with a deadline";
  if (tracer == WORST_WAKEUP_RT) return "a thread with a real-time or deadline policy";
  if (!whole_machine) return "a thread of the target";
  return "a thread more important than the one it would have interrupted";
}

std::string_view nothing_seen(worst_tracer tracer) {
  if (tracer == WORST_IRQSOFF) return "no timer expired while a thread ran";
  if (tracer == WORST_PREEMPTOFF) return "no CPU had a delayed switch";
  return "no timer expired while a thread ran, no CPU had a delayed switch";
}

void note_if_all_shorter(std::uint64_t longest_ns, Duration threshold,
                         std::vector<std::string>& notes) {
  if (longest_ns < static_cast<std::uint64_t>(threshold.count()))
    notes.push_back(
        fmt::format("nothing found: none took {} or longer", format_duration(threshold)));
}

}  // namespace

void WorstProbeSet::add_to(Session& session, const Kernel&,
                           const std::vector<std::uint32_t>& cpus) {
  options_.cpus = cpus;
  auto probe = std::make_unique<WorstProbe>(options_, session.membership().maps());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void WorstProbeSet::poll(KernelTime, const RecordHandler& handler) {
  probe_->poll(handler);
}

void WorstProbeSet::raise_bar(std::uint64_t latency_ns) {
  if (probe_) probe_->raise_bar(latency_ns);
}

std::vector<std::string> WorstProbeSet::notes() const {
  const WorstProbe::Figures seen = probe_->figures();
  if (seen.tracked == 0)
    return {fmt::format("nothing found: no wake-up of {} was seen",
                        whose(options_.tracer, options_.whole_machine))};
  std::vector<std::string> notes = {fmt::format("{} followed, the longest took {}",
                                                counted(seen.tracked, "wake-up"),
                                                duration_text(seen.longest_ns))};
  if (options_.whole_machine)
    notes.back() += fmt::format("; {} replaced by a higher-priority one",
                                seen.displaced == 0 ? "none" : grouped(seen.displaced));
  note_if_all_shorter(seen.longest_ns, options_.threshold, notes);
  return notes;
}

void SectionProbeSet::add_to(Session& session, const Kernel&,
                             const std::vector<std::uint32_t>& cpus) {
  options_.cpus = cpus;
  auto probe = std::make_unique<SectionsProbe>(options_, session.membership().maps());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void SectionProbeSet::raise_bar(std::uint64_t latency_ns) {
  if (probe_) probe_->raise_bar(latency_ns);
}

std::vector<std::string> SectionProbeSet::notes() const {
  std::vector<std::string> notes = {
      "lower bounds: the begin of a section is not seen, and most sections are not seen at all"};
  const SectionsProbe::Figures seen = probe_->figures();
  if (seen.seen == 0)
    notes.push_back(fmt::format("nothing found: {}", nothing_seen(options_.tracer)));
  else
    note_if_all_shorter(seen.longest_ns, options_.threshold, notes);
  return notes;
}

}  // namespace overdue
