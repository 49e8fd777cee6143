#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "source/listener.h"
#include "source/source.h"
#include "target/spawn.h"

namespace overdue {

/// The program of a session, its duration and its output.
struct RunRequest {
  std::vector<std::string> program = {};  ///< argv; empty: no program
  SpawnOptions spawn = {};
  std::optional<Duration> duration = {};
  std::optional<Duration> interval = {};
  bool quiet = false;
  bool streams = false;  ///< the listener writes while the session runs
};

/// Runs a session from start to final report. Returns the exit status: the program's, or 3 if a
/// limit ended the session, else 0. Throws Error.
int run_session(const RunRequest& request, Source& source, MeasureListener& listener);

}  // namespace overdue
