#include "live/joint_probe_set.h"

#include <algorithm>
#include <numeric>

namespace overdue {

Support JointProbeSet::support(const Kernel& kernel) const {
  for (const ProbeSet* set : sets_)
    if (Support support = set->support(kernel); !support.yes) return support;
  return {};
}

std::size_t JointProbeSet::ring_bytes() const {
  std::size_t most = 0;
  for (const ProbeSet* set : sets_) most = std::max(most, set->ring_bytes());
  return most;
}

void JointProbeSet::add_to(Session& session, const Kernel& kernel,
                           const std::vector<std::uint32_t>& cpus) {
  for (ProbeSet* set : sets_) set->add_to(session, kernel, cpus);
}

void JointProbeSet::armed(KernelTime start) {
  for (ProbeSet* set : sets_) set->armed(start);
}

std::uint64_t JointProbeSet::events_in(const Record& record) const {
  return std::accumulate(
      sets_.begin(), sets_.end(), std::uint64_t{0},
      [&](std::uint64_t sum, const ProbeSet* set) { return sum + set->events_in(record); });
}

std::uint64_t JointProbeSet::events() const {
  return std::accumulate(
      sets_.begin(), sets_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const ProbeSet* set) { return sum + set->events(); });
}

bool JointProbeSet::look_at_switches() const {
  return std::ranges::any_of(sets_, &ProbeSet::look_at_switches);
}

bool JointProbeSet::names_kernel_threads() const {
  return std::ranges::any_of(sets_, &ProbeSet::names_kernel_threads);
}

bool JointProbeSet::attaches_later() const {
  return std::ranges::any_of(sets_, &ProbeSet::attaches_later);
}

Duration JointProbeSet::poll_every() const {
  Duration every = Duration::max();
  for (const ProbeSet* set : sets_) every = std::min(every, set->poll_every());
  return every;
}

KernelTime JointProbeSet::due() const {
  KernelTime first = KernelTime::max();
  for (const ProbeSet* set : sets_) first = std::min(first, set->due());
  return first;
}

void JointProbeSet::poll(KernelTime now, const RecordHandler& handler) {
  for (ProbeSet* set : sets_) set->poll(now, handler);
}

bool JointProbeSet::is_over() const {
  return std::ranges::any_of(sets_, &ProbeSet::is_over);
}

KernelTime JointProbeSet::ending() {
  KernelTime end = KernelTime::max();
  for (ProbeSet* set : sets_) end = std::min(end, set->ending());
  return end;
}

void JointProbeSet::finish(const RecordHandler& handler) {
  for (ProbeSet* set : sets_) set->finish(handler);
}

void JointProbeSet::end_threads() noexcept {
  for (ProbeSet* set : sets_) set->end_threads();
}

std::vector<std::pair<std::string, std::string>> JointProbeSet::settings() const {
  return sets_.front()->settings();
}

std::vector<std::string> JointProbeSet::notes() const {
  std::vector<std::string> all;
  for (const ProbeSet* set : sets_) {
    std::vector<std::string> notes = set->notes();
    std::ranges::move(notes, std::back_inserter(all));
  }
  return all;
}

}  // namespace overdue
