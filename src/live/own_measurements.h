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

/// Measurements with a command of their own, for `record --events`, each with settings: "timerlat",
/// "osnoise:runtime=500ms", "app_timers", "hwlat", and "worst", which may be of another latency
/// than wake-ups: "worst:irqsoff". Other settings are those that the command has by default. Used
/// by one thread.
class OwnMeasurements {
 public:
  /// The threads of a workload start, and wait for the session. `cpus`: those that the workload
  /// runs on. Throws Error (exit status 2) for a setting that a measurement does not have, and for
  /// two with a workload, which would measure each other.
  OwnMeasurements(const std::vector<std::string>& chosen, const std::vector<std::uint32_t>& cpus,
                  bool whole_machine);
  ~OwnMeasurements();
  OwnMeasurements(const OwnMeasurements&) = delete;
  OwnMeasurements& operator=(const OwnMeasurements&) = delete;

  static constexpr std::array<std::string_view, 5> names = {"timerlat", "osnoise", "app_timers",
                                                            "worst", "hwlat"};
  /// Whether `word` is one of the names, alone or with settings behind a colon.
  static bool knows(std::string_view word);

  std::vector<ProbeSet*> probe_sets() const;
  /// Takes a record of the session: the longest latency that is kept is the bar for the next.
  void recorded(const Record& record);
  /// What their reports need, as SessionInfo::options keeps it: "timerlat.period_ns", …
  KeptOptions options() const;
  /// Throws Error if a workload ended because nothing else got to run.
  void check_starved() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace overdue
