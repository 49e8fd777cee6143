#include "live/percentile_thresholds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "core/chosen_schema.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

/// Late operations per second that can be examined at little cost.
constexpr double late_max = 1'000;
constexpr double smallest_scale = 1.0 / 1024;

SpanKinds counted_kinds(const Thresholds& thresholds, const SpanChoice& spans) {
  SpanKinds kinds = 0;
  for (const span_kind kind : spans.kinds)
    if (thresholds.has_percentile(kind)) kinds |= kinds_of({kind});
  return kinds;
}

std::uint32_t millionths(double share) {
  return static_cast<std::uint32_t>(std::lround(1e6 * share));
}

}  // namespace

PercentileThresholds::PercentileThresholds(const Thresholds& thresholds, const SpanChoice& spans)
    : thresholds_(thresholds),
      pairs_(spans.pair_names()),
      kinds_(counted_kinds(thresholds, spans)),
      counts_(kinds_) {}

MeasuredKind PercentileThresholds::kind_of(u32 slot) const {
  if (slot >= SLOT_OF_CALL) return {.span = SPAN_SYSCALL, .call = slot - SLOT_OF_CALL};
  if (slot < SLOT_OF_PAIR) return {.span = known_span_kind(static_cast<std::uint16_t>(slot))};
  const std::size_t pair = slot - SLOT_OF_PAIR;
  if (pair >= pairs_.size()) return {};
  return {.span = SPAN_PAIR, .pair = pairs_[pair].substr(0, SPAN_TEXT_SIZE - 1)};
}

void PercentileThresholds::examined(const MeasuredKind& kind, std::uint64_t latency_ns,
                                    bool is_idle) {
  const auto found = chosen_.find(kind);
  if (found != chosen_.end()) found->second.threshold.examined(latency_ns, is_idle);
}

void PercentileThresholds::halve() {
  scale_ = std::max(scale_ / 2, smallest_scale);
}

void PercentileThresholds::limit_late(KernelTime now) {
  if (now <= start_) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  double late = 0;
  for (const auto& [kind, one] : chosen_)
    late += static_cast<double>(one.threshold.operations()) * one.threshold.asked().late_share();
  while (late / seconds * scale_ > late_max && scale_ > smallest_scale) halve();
}

void PercentileThresholds::count() {
  counts_.read();
  for (const auto& [slot, counted] : counts_.slots()) {
    const MeasuredKind kind = kind_of(slot);
    const auto asked = percentile_of(thresholds_, kind);
    if (!asked) {
      chosen_.erase(kind);
      continue;
    }
    Kind& one = chosen_.try_emplace(kind, Kind{PercentileThreshold(*asked)}).first->second;
    one.threshold.ask(*asked);
    one.threshold.count(counted);
  }
}

bool PercentileThresholds::choose(KernelTime now) {
  count();
  limit_late(now);
  bool has_changed = false;
  for (const auto& [slot, counted] : counts_.slots())
    if (const auto found = chosen_.find(kind_of(slot)); found != chosen_.end()) {
      PercentileThreshold& threshold = found->second.threshold;
      threshold.choose(counted, threshold.asked().late_share() * scale_);
      has_changed |= threshold.threshold() != found->second.reported;
    }
  return has_changed;
}

void PercentileThresholds::report(KernelTime now, const RecordHandler& handler) {
  for (auto& [kind, one] : chosen_) {
    if (one.threshold.threshold() == one.reported) continue;
    one.reported = one.threshold.threshold();
    deliver(kind, one.threshold, now, 0, handler);
  }
}

void PercentileThresholds::report_all(KernelTime end, const RecordHandler& handler) {
  count();
  for (const auto& [kind, one] : chosen_) deliver(kind, one.threshold, end, CHOSEN_AT_END, handler);
}

void PercentileThresholds::deliver(const MeasuredKind& kind, const PercentileThreshold& threshold,
                                   KernelTime time, u16 flags, const RecordHandler& handler) const {
  chosen_threshold record{};
  record.header.time_ns = static_cast<u64>(time.time_since_epoch().count());
  record.header.kind = chosen_threshold_schema.id;
  record.header.size = sizeof record;
  if (const auto chosen = threshold.threshold())
    record.threshold_ns = static_cast<u64>(chosen->count());
  record.operations = threshold.operations();
  record.idle = threshold.idle();
  record.asked_ppm = threshold.asked().ppm;
  record.used_ppm = 1'000'000 - millionths(threshold.asked().late_share() * scale_);
  record.subject = kind.call.value_or(0);
  record.span = static_cast<u16>(kind.span);
  record.flags = static_cast<u16>(flags | (kind.call ? CHOSEN_OF_CALL : 0));
  std::memcpy(record.name, kind.pair.data(),
              std::min<std::size_t>(kind.pair.size(), sizeof record.name - 1));
  handler(Record{&chosen_threshold_schema, std::as_bytes(std::span(&record, 1))});
}

std::optional<Duration> PercentileThresholds::of(const MeasuredKind& kind) const {
  const auto found = chosen_.find(kind);
  return found != chosen_.end() ? found->second.threshold.threshold() : std::nullopt;
}

Duration PercentileThresholds::least(const std::vector<span_kind>& kinds) const {
  Duration least = Duration::max();
  for (const auto& [kind, one] : chosen_)
    if (std::ranges::find(kinds, kind.span) != kinds.end())
      least = std::min(least, one.threshold.threshold().value_or(Duration::max()));
  return least;
}

}  // namespace overdue
