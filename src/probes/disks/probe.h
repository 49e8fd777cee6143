#pragma once

#include <memory>

#include "bpf/disk_use.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

/// Sums up the requests of all processes of the machine to all disks: a disk_use record for each
/// process and disk, at the end. The constructor loads and attaches the programs, and throws Error.
class DisksProbe final : public LiveProbe {
 public:
  explicit DisksProbe(const SharedMaps& shared);
  ~DisksProbe() override;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t) const override { return nullptr; }
  Counters counters() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo disks_probe;
extern const Schema disk_use_schema;

}  // namespace overdue
