#pragma once

#include <cstdint>

#include "live/stall_probe_set.h"
#include "probes/profile/probe.h"

namespace overdue {

/// The probe set of `why`: late operations with what explains them, where all threads were, all
/// system calls added up, and samples of CPUs. The thresholds choose themselves: they rise while
/// more operations are late than can be examined.
class WhyProbeSet final : public StallProbeSet {
 public:
  explicit WhyProbeSet(StallOptions options) : StallProbeSet(std::move(options)) {}

  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::uint64_t events_in(const Record& record) const override;
  void poll(KernelTime now, const RecordHandler& handler) override;
  KernelTime due() const override;
  std::vector<std::string> notes() const override;

 private:
  void record_less();

  KernelTime next_count_{};            ///< time of the next look at the number of records
  mutable std::uint64_t records_ = 0;  ///< since the last look
};

}  // namespace overdue
