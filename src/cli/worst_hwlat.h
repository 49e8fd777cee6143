#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/options.h"
#include "report/hwlat/view.h"

namespace overdue {

/// A run of `overdue worst hwlat`.
struct HwlatRequest {
  HwlatPlan plan;
  std::vector<std::uint32_t> cpus;  ///< measured one after the other
  std::string cpus_text;            ///< value of --cpu; empty: all CPUs
  std::optional<Duration> duration;
  OutputOptions output;
  std::string save;  ///< trace file; empty: none
};

/// Looks for latencies that software does not explain, until the time is over or a signal comes,
/// and reports them as they are found. Returns the exit status. Throws Error.
int run_hwlat(const HwlatRequest& request, const Kernel& kernel);

}  // namespace overdue
