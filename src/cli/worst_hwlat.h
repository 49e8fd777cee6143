#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/options.h"

namespace overdue {

/// What `overdue worst hwlat` was asked for.
struct HwlatRequest {
  std::vector<std::uint32_t> cpus;  ///< one after the other
  std::string cpus_text;            ///< as given; empty: all
  Duration threshold = std::chrono::microseconds(10);
  Duration width = std::chrono::milliseconds(500);  ///< of each window, somebody looks
  Duration window = std::chrono::seconds(1);
  bool by_kernel = false;  ///< with its own tracer, whose threshold, width and window it keeps
  std::optional<Duration> duration;
  OutputOptions output;
};

/// Looks for latencies that no software has made until the time is over or a signal comes, and
/// reports them as they are found. Returns the exit status. Throws Error.
int run_hwlat(const HwlatRequest& request, const Kernel& kernel);

}  // namespace overdue
