#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/session_info.h"
#include "source/kept_options.h"
#include "source/probe_set.h"

namespace overdue {

/// Measurements with a command of their own, for `record --events`: "timerlat", "osnoise",
/// "app_timers", and "worst", which may be "worst:wakeup_rt" or "worst:wakeup_dl". Each has the
/// settings that its command has by default. Used by one thread.
class OwnMeasurements {
 public:
  /// The threads of a workload start, and wait for the session. `cpus`: those that the workload
  /// runs on. Throws Error (exit status 2) for two with a workload, which would measure each other.
  OwnMeasurements(const std::vector<std::string>& chosen, const std::vector<std::uint32_t>& cpus,
                  bool whole_machine);
  ~OwnMeasurements();
  OwnMeasurements(const OwnMeasurements&) = delete;
  OwnMeasurements& operator=(const OwnMeasurements&) = delete;

  /// The names, without those of one worst latency.
  static constexpr std::array<std::string_view, 4> names = {"timerlat", "osnoise", "app_timers",
                                                            "worst"};
  /// Whether there is such a measurement.
  static bool knows(std::string_view name);

  std::vector<ProbeSet*> probe_sets() const;
  /// What their reports need, as SessionInfo::options keeps it: "timerlat.period_ns", …
  KeptOptions options() const;
  /// Throws Error if a workload ended because nothing else got to run.
  void check_starved() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace overdue
