#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "base/fd.h"
#include "bpf/latencies.h"
#include "kernel/mapped.h"
#include "kernel/membership.h"

namespace overdue {

/// Operations by bucket of bpf/histogram.h.
using BucketCounts = std::array<std::uint64_t, HISTOGRAM_BUCKETS>;

/// The latencies that the programs of a session count (bpf/latencies.h). Owns the map that the
/// objects of the session share: about 1.5 MB for each of at most 16 stripes of CPUs. Used by one
/// thread.
class LatencyCounts {
 public:
  /// `kinds`: set of enum span_kind to count. Throws Error if the kernel refuses the map.
  explicit LatencyCounts(u32 kinds);

  /// Makes the objects that get `maps` count; for as long as this object lives.
  void add_to(SharedMaps& maps) const;

  /// Reads the counts. BPF programs may run meanwhile.
  void read();
  /// What was counted up to the last read(), by slot; slots without an operation are missing.
  const std::map<u32, BucketCounts>& slots() const { return totals_; }

 private:
  void read(std::size_t stripe, u32 slot);

  u32 kinds_;
  std::size_t stripes_;
  Fd map_;
  Mapped counted_;
  std::map<u32, BucketCounts> totals_;
  /// The words of the last read(), by index in the map: they may wrap.
  std::map<std::size_t, std::array<u32, HISTOGRAM_BUCKETS>> before_;
};

}  // namespace overdue
