#pragma once

#include <cstddef>
#include <span>

#include "base/fd.h"
#include "bpf/span_sums.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

/// The sums that the programs of a session keep instead of a record for each span
/// (bpf/span_sums.h). Owns the map that the objects of the session share, about 12 MB. Delivers a
/// struct span_sum for each kind and name, and each thread if asked for. Used by one thread.
class SpanSums final : public LiveProbe {
 public:
  /// `kinds`: set of enum span_kind. Throws Error if the kernel refuses the map.
  SpanSums(session_control& control, u32 kinds, bool by_thread);

  /// Makes the objects that get `maps` keep sums; for as long as this object lives.
  void add_to(SharedMaps& maps) const;

  void drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) override;
  double fill(std::uint32_t epoch) const override;
  void finish(KernelTime, const RecordHandler&) override {}
  const Schema* schema(std::uint16_t) const override { return nullptr; }  // none is in a ring
  Counters counters() const override { return {}; }

 private:
  session_control& control_;
  u32 kinds_;
  bool by_thread_;
  Fd map_;
};

/// What each kind is summed by. `to` has an entry for each possible enum span_kind.
void fill_identities(std::span<span_identity, SPAN_KINDS_MAX> to);

/// Makes programs with bpf/span_sums.bpf.h keep sums of the spans of `shared.summed_kinds`.
template <typename ReadOnlyData>
void sum_spans(ReadOnlyData& rodata, const SharedMaps& shared) {
  rodata.summed_kinds = shared.summed_kinds;
  rodata.sums_by_thread = shared.sums_by_thread;
  if (shared.summed_kinds != 0) fill_identities(rodata.span_identities);
}

}  // namespace overdue
