#pragma once

#include <optional>
#include <string>

#include "core/session_info.h"
#include "source/kept_options.h"
#include "source/listener.h"
#include "source/probe_set.h"
#include "source/run_session.h"
#include "target/selection.h"
#include "target/spawn.h"

namespace overdue {

/// What to measure, and for how long.
struct MeasureRequest {
  std::string command;  ///< name of the command, for the report
  TargetSelection selection;
  InheritedState inherited;  ///< signals and limits of the spawned program
  std::optional<Duration> duration;
  std::optional<Duration> interval;
  bool quiet = false;
  bool verbose = false;  ///< prints the attached hooks
  bool streams = false;  ///< the listener writes during the measurement
  bool by_container = false;
  bool starts_helpers = false;    ///< runs programs as the caller: --on exec:, --debuginfod
  bool workload_threads = false;  ///< measures workload threads: no thread is a member
  std::vector<std::string> thresholds = {};  ///< of -T, for a recording
  std::vector<std::string> spans = {};       ///< of --span, for a recording
  std::vector<std::string> only = {};        ///< of -e, for a recording
  KeptOptions options = {};                  ///< settings of the session, for a recording
  std::vector<std::string> notes = {};       ///< remarks for the reader of the report
};

/// The part of `request` that the run needs: times, output, and the target's program, if any.
RunRequest run_request(const MeasureRequest& request);

/// Runs one measurement from start to final report. Returns the exit status: the spawned program's,
/// or 3 if a limit ended the measurement, else 0. Throws Error.
int measure(const MeasureRequest& request, const Kernel& kernel, ProbeSet& probe_set,
            MeasureListener& listener);

}  // namespace overdue
