#include "kernel/latency_counts.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "kernel/libbpf_log.h"

namespace overdue {
namespace {

Fd make_map(std::size_t histograms) {
  bpf_map_create_opts options{};  // libbpf's macro causes warnings in clang
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  return Fd(check(bpf_map_create(BPF_MAP_TYPE_ARRAY, "latencies", sizeof(u32),
                                 sizeof(counted_latencies), static_cast<u32>(histograms), &options),
                  "cannot create the map of counted latencies"));
}

}  // namespace

LatencyCounts::LatencyCounts(u32 kinds)
    : kinds_(kinds),
      stripes_(std::min<std::size_t>(std::bit_ceil(possible_cpu_count()), LATENCY_STRIPES)),
      map_(make_map(stripes_ * LATENCY_SLOTS)),
      counted_(map_.get(), stripes_ * LATENCY_SLOTS * sizeof(counted_latencies), PROT_READ, 0,
               "the counted latencies") {}

void LatencyCounts::add_to(SharedMaps& maps) const {
  maps.latencies = map_.get();
  maps.counted_kinds = kinds_;
  maps.latency_stripes = static_cast<u32>(stripes_);
}

void LatencyCounts::read() {
  for (std::size_t stripe = 0; stripe < stripes_; ++stripe)
    for (u32 slot = 0; slot < LATENCY_SLOTS; ++slot) read(stripe, slot);
}

void LatencyCounts::read(std::size_t stripe, u32 slot) {
  const std::size_t index = stripe * LATENCY_SLOTS + slot;
  const auto& counted = *counted_.as<const counted_latencies>(index * sizeof(counted_latencies));
  if (__atomic_load_n(&counted.is_used, __ATOMIC_RELAXED) == 0) return;
  auto& before = before_[index];
  BucketCounts& totals = totals_[slot];
  for (std::size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; ++bucket) {
    const u32 now = __atomic_load_n(&counted.buckets[bucket], __ATOMIC_RELAXED);
    totals[bucket] += static_cast<u32>(now - before[bucket]);
    before[bucket] = now;
  }
}

}  // namespace overdue
