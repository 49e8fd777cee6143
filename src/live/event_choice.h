#pragma once

#include <string>
#include <vector>

namespace overdue {

/// What `--events` chooses.
struct EventChoice {
  bool calls = false;              ///< every system call
  std::vector<std::string> spans;  ///< values of `--span`
};

/// Parses the values of `--events`: `syscalls`, kinds of span, groups of kinds, or one user span.
/// Without values, system calls. Throws Error (exit status 2) for any other value.
EventChoice parse_events(const std::vector<std::string>& values);

}  // namespace overdue
