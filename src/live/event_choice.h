#pragma once

#include <string>
#include <vector>

#include "kernel/span_probe.h"

namespace overdue {

/// What `--events` chooses.
struct EventChoice {
  bool calls = false;              ///< every system call
  std::vector<std::string> spans;  ///< values of `--span`
  SpanKinds of_groups = 0;         ///< kinds that only a group brought
  std::vector<std::string> own;    ///< OwnMeasurements
};

/// Parses the values of `--events`: `syscalls`, kinds of span, groups of kinds, measurements with a
/// command of their own, or one user span.
/// Without values, system calls. Throws Error (exit status 2) for any other value.
EventChoice parse_events(const std::vector<std::string>& values);

}  // namespace overdue
