#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/members.h"

namespace overdue {

/// Latencies counted by buckets of one width, as --hist shows them; the last bucket has all longer
/// ones.
class EvenHistogram {
 public:
  EvenHistogram() = default;
  /// `width_ns` and `buckets` are at least 1.
  EvenHistogram(std::uint64_t width_ns, std::size_t buckets)
      : width_ns_(width_ns), buckets_(buckets) {}

  void add(std::uint64_t ns) { ++counts_[std::min<std::uint64_t>(ns / width_ns_, buckets_)]; }
  void merge(const EvenHistogram& other) {
    for (const auto& [bucket, count] : other.counts_) counts_[bucket] += count;
  }
  std::uint64_t count_in(std::size_t bucket) const {
    const auto found = counts_.find(bucket);
    return found == counts_.end() ? 0 : found->second;
  }
  /// Number of the bucket → latencies in it; those that have none are missing.
  const std::map<std::size_t, std::uint64_t>& counts() const { return counts_; }
  /// The same with bounds.
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> bounded;
    for (const auto& [bucket, count] : counts_) {
      Bucket& one = bounded.emplace_back(Bucket{bucket * width_ns_, {}, count});
      if (bucket < buckets_) one.high_ns = (bucket + 1) * width_ns_;
    }
    return bounded;
  }

 private:
  std::uint64_t width_ns_ = 1000;
  std::size_t buckets_ = 256;
  std::map<std::size_t, std::uint64_t> counts_;
};

}  // namespace overdue
