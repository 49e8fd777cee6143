#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/instruments.h"
#include "cli/options.h"
#include "core/session_info.h"
#include "target/selection.h"
#include "target/spawn.h"

namespace overdue {

/// What to measure, and for how long.
struct MeasureRequest {
  std::string command;  ///< of the command line, for the report
  TargetSelection selection;
  InheritedState inherited;  ///< for the spawned program
  std::optional<Duration> duration;
  std::optional<Duration> interval;
  bool quiet = false;
  bool verbose = false;  ///< say what was attached
  bool streams = false;  ///< the listener writes while we measure
  bool by_container = false;
  bool starts_helpers = false;  ///< programs run for the caller meanwhile: --on exec:, --debuginfod
  bool own_threads = false;     ///< it measures threads of Overdue itself: no thread is a member
  std::vector<std::string> thresholds = {};  ///< for the reader of a recording
  std::vector<std::string> spans = {};       ///< likewise
  std::vector<std::string> only = {};        ///< likewise
};

/// Of a command that measures threads of its own, one on each of `cpus`; `cpus_text` is how those
/// were given, if they were. `live`: a table is drawn anew each second, or what was asked for;
/// `every_one`: each measurement is written as it comes.
MeasureRequest request_of_own_threads(std::string command, const std::vector<std::uint32_t>& cpus,
                                      const std::optional<std::string>& cpus_text,
                                      const StopOptions& stop, const OutputOptions& output,
                                      bool live, bool every_one);

/// Who gets what is measured. All calls come from the measuring thread.
class MeasureListener {
 public:
  virtual ~MeasureListener() = default;
  /// Everything is attached and the program stands ready: what overwrites files may do so now.
  virtual void begin(const SessionInfo&) = 0;
  virtual void record(const Record&) = 0;
  /// `meanwhile` is to be called every few ms while the listener waits for another process: the
  /// kernel's records do not wait. Before anything else; empty after everything else.
  virtual void while_waiting(const std::function<void()>& /*meanwhile*/) {}
  /// The rings were read, as often as Instruments::poll_every() wants it.
  virtual void polled() {}
  virtual void interval(const SessionInfo&, Duration wall) = 0;
  /// Twice a second: write out what is buffered.
  virtual void tick() = 0;
  /// Whether what was seen so far is enough.
  virtual bool wants_stop() const { return false; }
  /// The last record has come: what then takes long is done here, so that the receipt's account of
  /// Overdue's own work has it.
  virtual void settle() {}
  virtual void end(const SessionInfo&, const Receipt&) = 0;
};

/// Runs one measurement from start to final report. Returns the exit status: the
/// spawned program's, else 0. Throws Error.
int measure(const MeasureRequest& request, const Kernel& kernel, Instruments& instruments,
            MeasureListener& listener);

}  // namespace overdue
