#pragma once

#include <poll.h>

#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/record.h"
#include "core/session_info.h"
#include "target/spawn.h"

namespace overdue {

/// The source of a session's records: BPF programs, or a kernel tracer in a tracing instance.
/// run_session() calls the members from one thread in the order of their declaration, `due` to
/// `is_over` repeatedly.
class Source {
 public:
  virtual ~Source() = default;

  /// Throws Error if this machine or this user cannot measure; changes nothing.
  virtual void check() = 0;
  /// The name of the work of start(), for the progress line: "attaching".
  virtual std::string_view start_step() const = 0;
  /// Attaches and arms; `program`, or null, is ready to run. Returns the session's description,
  /// with its start. Throws Error.
  virtual SessionInfo start(const SpawnedProgram* program) = 0;
  /// The listener has begun: the session counts from now on.
  virtual void begin() {}

  /// Adds descriptors that end the wait for the next poll().
  virtual void add_to(std::vector<pollfd>&) const {}
  /// The latest time of the next poll().
  virtual KernelTime due(KernelTime now) const = 0;
  /// Delivers the records that have come. Throws Error if the session cannot go on.
  virtual void poll(const RecordHandler& handler) = 0;
  /// An interval ends: delivers records that were held back, and updates the names in `info`.
  virtual void collect(SessionInfo&, const RecordHandler&) {}
  /// The listener waits for another process: saves records that would be lost meanwhile. `ends`:
  /// the session ends at this moment, however long the listener waits.
  virtual void keep_up(bool /*ends*/) {}
  /// Whether the target has ended, a limit was passed, or a request to stop came.
  virtual bool is_over() = 0;
  /// Whether a limit was passed.
  virtual bool is_over_limit() const { return false; }

  /// Ends measuring, delivers the rest, and adds to the notes of `info`. Returns the end.
  virtual KernelTime stop(SessionInfo& info, const RecordHandler& handler) = 0;
  /// The events seen and lost, without Overdue's own use; adds to the notes of `info`. `has_run`:
  /// the program was released. May be called before stop(), during the session or after an Error.
  virtual Receipt receipt(SessionInfo& info, bool has_run) = 0;
  /// Removes everything from the kernel that costs the target time.
  virtual void detach() {}
  /// Frees the rest.
  virtual void close() {}
};

}  // namespace overdue
