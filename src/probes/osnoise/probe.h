#pragma once

#include <memory>
#include <vector>

#include "bpf/osnoise.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "probes/osnoise/threads.h"

namespace overdue {

/// What keeps busy threads from running: an osnoise_gap for each noise, and an osnoise_sample for
/// each period of a CPU, delivered by poll() and at the end. The constructor loads and attaches the
/// programs.
class OsnoiseProbe final : public LiveProbe {
 public:
  /// `threads` must not have begun, and must outlive this object. `cgroup_hierarchy`: as in
  /// MembershipRules, of the origins that the options of `threads` ask for.
  OsnoiseProbe(BusyThreads& threads, const SharedMaps& shared, int cgroup_hierarchy = -1);
  ~OsnoiseProbe() override;

  /// Releases the threads.
  void begin();
  /// Delivers the threads' records since the last call. If called too seldom, records are lost.
  void poll(const RecordHandler& handler);

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo osnoise_probe;
extern const Schema osnoise_gap_schema;
extern const Schema osnoise_sample_schema;

}  // namespace overdue
