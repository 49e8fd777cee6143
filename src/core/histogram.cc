#include "core/histogram.h"

#include <algorithm>
#include <cmath>

namespace overdue {

void Histogram::add(std::uint64_t value_ns, std::uint64_t times) {
  if (times == 0) return;
  count_ += times;
  total_ns_ += value_ns * times;
  min_ns_ = std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
  add_to_bucket(histogram_bucket(value_ns), times);
}

void Histogram::add_to_bucket(std::uint32_t index, std::uint64_t times) {
  auto at =
      std::lower_bound(buckets_.begin(), buckets_.end(), index,
                       [](const Bucket& bucket, std::uint32_t i) { return bucket.index < i; });
  if (at == buckets_.end() || at->index != index) at = buckets_.insert(at, {index, 0});
  at->count += times;
}

std::uint64_t Histogram::bucket_count(std::uint32_t bucket) const {
  const auto at =
      std::lower_bound(buckets_.begin(), buckets_.end(), bucket,
                       [](const Bucket& held, std::uint32_t i) { return held.index < i; });
  return at != buckets_.end() && at->index == bucket ? at->count : 0;
}

void Histogram::merge(const latency_histogram& wire) {
  if (wire.count == 0) return;
  count_ += wire.count;
  total_ns_ += wire.total_ns;
  // In a damaged cell, min_ns may exceed max_ns; the code below relies on min <= max.
  const auto [least, most] = std::minmax(wire.min_ns, wire.max_ns);
  min_ns_ = std::min(min_ns_, least);
  max_ns_ = std::max(max_ns_, most);
  for (std::uint32_t bucket = histogram_bucket(least); bucket <= histogram_bucket(most); ++bucket)
    if (wire.buckets[bucket] > 0) add_to_bucket(bucket, wire.buckets[bucket]);
}

void Histogram::merge(const Histogram& other) {
  count_ += other.count_;
  total_ns_ += other.total_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  for (const Bucket& bucket : other.buckets_) add_to_bucket(bucket.index, bucket.count);
}

Histogram::Quantile Histogram::quantile(double fraction) const {
  // Ranks count the values in the buckets, not count_: a 32-bit bucket of a BPF program may have
  // wrapped. The quantile is then that of the remaining values, not the maximum.
  std::uint64_t held = 0;
  for (const Bucket& bucket : buckets_) held += bucket.count;
  if (held == 0) return {};
  // The factor undoes representation error: ceil(0.07 * 100) must be 7, not 8.
  const double exact = fraction * static_cast<double>(held) * (1 - 1e-12);
  const auto rank =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(exact)), 1, held);

  std::uint64_t below = 0;
  auto bucket = buckets_.begin();
  while (below + bucket->count < rank) below += (bucket++)->count;
  const std::uint64_t value = std::clamp(bucket_high_ns(bucket->index) - 1, min_ns_, max_ns_);

  // With `lost` more values, all above or all below, the rank of the quantile among the counted
  // values is in [exact - (1 - fraction) * lost, exact + fraction * lost]. The quantile is certain
  // while both bounds are in this bucket.
  const double above_room = static_cast<double>(below + bucket->count) - exact;
  const double below_room = exact - static_cast<double>(below);
  double safe = above_room / fraction;
  if (fraction < 1) safe = std::min(safe, std::ceil(below_room / (1 - fraction)) - 1);
  return {value, safe >= 1 ? static_cast<std::uint64_t>(safe) : 0};
}

std::uint64_t Histogram::quantile_ns(double fraction) const {
  return quantile(fraction).value_ns;
}

std::uint64_t Histogram::stddev_ns() const {
  if (count_ == 0) return 0;
  const double mean = static_cast<double>(total_ns_) / static_cast<double>(count_);
  double squares = 0;
  std::uint64_t held = 0;
  for (const Bucket& bucket : buckets_) {
    // Only values between the exact extremes can be in the bucket; so equal values deviate by 0.
    const std::uint64_t low = std::max(bucket_low_ns(bucket.index), min_ns_);
    const std::uint64_t high = std::min(bucket_high_ns(bucket.index) - 1, max_ns_);
    const double middle = (static_cast<double>(low) + static_cast<double>(high)) / 2;
    squares += static_cast<double>(bucket.count) * (middle - mean) * (middle - mean);
    held += bucket.count;
  }
  return held ? static_cast<std::uint64_t>(
                    std::llround(std::sqrt(squares / static_cast<double>(held))))
              : 0;
}

std::uint64_t Histogram::bucket_low_ns(std::uint32_t bucket) {
  if (bucket < HISTOGRAM_SUB_BUCKETS) return bucket;
  const std::uint32_t shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
  const std::uint64_t sub = bucket & (HISTOGRAM_SUB_BUCKETS - 1);
  return (HISTOGRAM_SUB_BUCKETS + sub) << shift;
}

std::uint64_t Histogram::bucket_high_ns(std::uint32_t bucket) {
  return bucket + 1 < HISTOGRAM_BUCKETS ? bucket_low_ns(bucket + 1) : UINT64_MAX;
}

}  // namespace overdue
