#include "live/syscall_probe_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace overdue {
namespace {

constexpr std::chrono::milliseconds ring_poll{
    10};  // a ring of the default size lasts ten times as long
constexpr std::chrono::milliseconds cells_poll{5};  // short-lived threads use up cells fast
// The sooner user space knows a place that makes calls, the fewer stacks the kernel copies.
constexpr std::chrono::milliseconds stacks_poll{2};
constexpr std::chrono::milliseconds idle_poll{200};
constexpr std::chrono::milliseconds filters_poll{20};
constexpr std::size_t cells_for_threads =
    16384;  // 45 MB a half: 5000 threads that end within 50 ms

}  // namespace

std::size_t SyscallProbeSet::ring_bytes() const {
  if (!options_.calls && !options_.callers) return 0;
  return ring_bytes_ > 0 ? ring_bytes_ : default_ring_bytes();
}

void SyscallProbeSet::add_to(Session& session, const Kernel&,
                             const std::vector<std::uint32_t>& cpus) {
  SyscallsOptions options = options_;
  options.cells = options.by_thread || options.callers
                      ? cells_for_threads
                      : std::max(2048u, 256 * possible_cpu_count());
  options.cpus = cpus;
  membership_ = &session.membership();
  auto probe = std::make_unique<SyscallsProbe>(options, membership_->maps());
  probe_ = probe.get();
  session.add(std::move(probe));
}

void SyscallProbeSet::armed(KernelTime start) {
  if (discovery_ || options_.discover_only) probe_->look_for_filters();
  if (options_.discover_only) watch_filters(true);
  if (discovery_)
    two_phase_ =
        std::make_unique<TwoPhase>(*probe_, *membership_, options_.only, start + *discovery_);
}

std::uint64_t SyscallProbeSet::events_in(const Record& record) const {
  if (record.schema->id == RECORD_SYSCALL_CALL) return 1;
  if (record.schema->id != RECORD_SYSCALL_CELL) return 0;
  return record.at<u64>(offsetof(syscall_cell, latency.count)) +
         record.at<u64>(offsetof(syscall_cell, unreturned)) +
         record.at<u64>(offsetof(syscall_cell, untimed)) +
         record.at<u64>(offsetof(syscall_cell, refused));
}

Duration SyscallProbeSet::poll_every() const {
  if (options_.callers) return stacks_poll;
  if (options_.by_thread) return cells_poll;
  return options_.calls ? ring_poll : idle_poll;
}

void SyscallProbeSet::poll(KernelTime now, const RecordHandler&) {
  if (two_phase_) two_phase_->poll(now);
  if (options_.discover_only && !sees_refusals_) watch_filters(false);
}

/// `--discover` hooks only the entries of calls, as long as no call can be refused.
void SyscallProbeSet::watch_filters(bool from_the_start) {
  const auto since = probe_->refusable_since();
  if (!since) return;
  sees_refusals_ = true;
  try {
    probe_->attach_raw_exit();
    if (!from_the_start) refusals_note_ = refusals_missed(KernelClock::now() - *since);
  } catch (const Error& error) {
    refusals_note_ = fmt::format("calls that seccomp refuses are missing: {}", error.what());
  }
}

KernelTime SyscallProbeSet::due() const {
  if (two_phase_) return two_phase_->due();
  if (!options_.discover_only || sees_refusals_) return KernelTime::max();
  return KernelClock::now() + filters_poll;
}

std::vector<std::string> SyscallProbeSet::notes() const {
  std::vector<std::string> notes;
  if (two_phase_) notes.push_back(two_phase_->note());
  if (!refusals_note_.empty()) notes.push_back(refusals_note_);
  Counters counters = probe_->counters();
  if (const std::uint64_t calls = counters[COUNTER_BEYOND_SETS])
    notes.push_back(fmt::format("calls of numbers above {} that {}: {}", SYSCALL_TABLE_SIZE - 1,
                                options_.discover_only
                                    ? "are not in this list"
                                    : "were left out, because -e cannot choose them",
                                calls));
  if (const std::uint64_t calls = counters[COUNTER_TEXT_UNREAD])
    notes.push_back(fmt::format(
        "calls with a string argument that could not be read and is shown as its address: {}",
        calls));
  if (const std::uint64_t calls = counters[COUNTER_CALLERS_LOST])
    notes.push_back(fmt::format(
        "calls under [unknown] because their stacks found no room in the buffer: {}", calls));
  return notes;
}

}  // namespace overdue
