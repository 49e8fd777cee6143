// How the thresholds of a session reach the kernel, and adapt to what is late.
#include "live/stall_probe_set.h"

#include <algorithm>
#include <utility>

#include "core/span_kinds.h"
#include "kernel/thresholds.h"

namespace overdue {
namespace {

/// The time for which the runs of a CPU are summed up is this part of the shortest threshold.
constexpr std::uint64_t slice_part = 32;
constexpr Duration shortest_wait = std::chrono::microseconds(1);

/// Longer waits explain most stalls that are worth a look.
constexpr Duration last_least_wait = std::chrono::milliseconds(1);
/// Longer than any span, for spans that are counted and none of which is late yet.
constexpr Duration never = std::chrono::hours(24 * 365 * 100);
constexpr u64 no_wait = ~u64{0};        // no wait is recorded for its length alone
constexpr u64 longest_slice = ~u64{0};  // nor is recorded who ran before

}  // namespace

void StallProbeSet::store_shortest_waits() {
  const Thresholds& all = options_.thresholds;
  session_control& control = membership_->control();
  std::vector<span_kind> waited, delayed;
  // Late wake-ups are recorded as spans, and no earlier wait explains them.
  for (const span_kind kind : options_.spans.kinds) {
    if (options_.span_sums) break;  // no wait has a record
    if (is_explained_by_waits(kind)) delayed.push_back(kind);
    if (is_explained_by_waits(kind) && kind != SPAN_WAKEUP) waited.push_back(kind);
  }
  const auto part_of_least = [&](const std::vector<span_kind>& kinds, std::uint64_t part) {
    Duration least = std::max(all.least(kinds) / part, shortest_wait);
    if (percentiles_)
      least = std::min(least, std::max(percentiles_->least(kinds) / part, least_wait_));
    return static_cast<u64>(least.count());
  };
  u64 wait_min_ns = waited.empty() ? no_wait : part_of_least(waited, limit_.wait_part());
  // The waits are the spans.
  if (percentiles_ && options_.spans.has(SPAN_OFFCPU))
    wait_min_ns = std::min<u64>(
        wait_min_ns, std::max(percentiles_->least({SPAN_OFFCPU}), shortest_wait).count());
  const u64 slice_ns = delayed.empty()      ? 0
                       : !options_.explains ? longest_slice
                                            : part_of_least(delayed, slice_part);
  // A threshold that the user has set for a call needs its waits, however many there are.
  for (const auto& [nr, threshold] : rising_.thresholds())
    __atomic_store_n(&control.call_age_min_ns[nr],
                     all.by_call.contains(nr) ? 0 : static_cast<u64>(threshold.count() / 2),
                     __ATOMIC_RELAXED);
  __atomic_store_n(&control.slice_ns, slice_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&control.wait_min_ns, wait_min_ns, __ATOMIC_RELEASE);
}

/// Each word is stored atomically. Waits come first: a shorter threshold needs shorter waits. Names
/// of threads come last: they leave out spans that the least threshold lets through.
void StallProbeSet::store_thresholds() {
  const Thresholds& all = options_.thresholds;
  session_control& control = membership_->control();
  forget_thread_thresholds(control);
  store_shortest_waits();
  for (const span_kind kind : options_.spans.kinds)
    if (const auto threshold = all.least_of(kind); threshold && !is_sum_of_waits(kind))
      set_threshold(control, kind, *threshold);
  if (options_.spans.has(SPAN_SYSCALL))
    for (const auto& calls : {rising_.thresholds(), all.by_call})
      for (const auto& [nr, threshold] : calls) syscalls_->set_threshold(nr, threshold);
  const std::vector<PairSpec>& pairs = options_.spans.pairs;
  for (std::size_t i = 0; pairs_ && i < pairs.size(); ++i)
    if (const auto own = all.by_pair.find(pairs[i].name); own != all.by_pair.end())
      pairs_->set_threshold(i, own->second);
  if (percentiles_) store_percentiles();
  ThreadThresholds by_name{.by_glob = all.by_thread};
  for (const span_kind kind : options_.spans.kinds) by_name.others[kind] = all.of(kind);
  set_thread_thresholds(control, by_name);
}

/// Where no percentile has been chosen yet, nothing is late, but all is counted. A word that is 0
/// stands for the threshold of the kind.
void StallProbeSet::store_percentiles() {
  const Thresholds& all = options_.thresholds;
  const auto chosen = [&](const MeasuredKind& kind) {
    return percentiles_->of(kind).value_or(never);
  };
  for (const span_kind kind : options_.spans.kinds)
    if (all.percentile_of(kind))
      set_threshold(membership_->control(), kind, chosen({.span = kind}));
  for (u32 nr = 0; options_.spans.has(SPAN_SYSCALL) && nr < SYSCALL_TABLE_SIZE; ++nr)
    if (!all.by_call.contains(nr))
      syscalls_->set_threshold(nr, all.percentile_of_call(nr)
                                       ? chosen({.span = SPAN_SYSCALL, .call = nr})
                                       : Duration(0));
  const std::vector<std::string> pairs = options_.spans.pair_names();
  for (std::size_t i = 0; pairs_ && i < pairs.size(); ++i)
    if (all.percentile_of_pair(pairs[i]))
      pairs_->set_threshold(i, chosen({.span = SPAN_PAIR, .pair = pairs[i]}));
}

/// First fewer waits that are asked for, then less of all others.
void StallProbeSet::adapt(KernelTime now) {
  next_count_ = now + RecordLimit::between_counts;
  const std::uint64_t all_lost = membership_->counters()[COUNTER_RING_FULL];
  const int doublings = RecordLimit::doublings({.records = std::exchange(records_, 0),
                                                .late = std::exchange(late_, 0),
                                                .lost = all_lost - std::exchange(lost_, all_lost)});
  std::optional<Duration>& threshold = options_.thresholds.general;
  if (!options_.adapts || doublings == 0) return rising_.forget();
  if (!rising_.rise(threshold.value_or(RecordLimit::highest_threshold)))
    limit_.examine_less(doublings, threshold);
  store_thresholds();
  if (on_change) on_change(now);
}

/// Either the waits of other threads are too many, or the late operations.
bool StallProbeSet::adapt_percentiles() {
  const std::uint64_t late = std::exchange(late_, 0), records = std::exchange(records_, 0);
  if (records <= RecordLimit::records_per_count) return false;
  if (2 * late > records) {
    percentiles_->halve();
    return false;
  }
  if (least_wait_ >= last_least_wait) return false;
  least_wait_ *= 2;
  return true;
}

}  // namespace overdue
