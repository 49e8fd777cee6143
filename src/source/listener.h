#pragma once

#include <poll.h>

#include <functional>
#include <vector>

#include "base/time.h"
#include "bpf/python.h"
#include "core/record.h"
#include "core/session_info.h"

namespace overdue {

/// Makes BPF programs follow the frames of the interpreter of Python in `program`.
using LearnPython =
    std::function<void(const python_program& program, const python_runtime& runtime)>;

/// Receives the records of a session. One thread makes all calls.
class MeasureListener {
 public:
  virtual ~MeasureListener() = default;
  /// Everything is attached, and the program is ready to run: files may be overwritten from now on.
  virtual void begin(const SessionInfo&) = 0;
  virtual void record(const Record&) = 0;
  /// Called before begin(), if stacks may have frames of Python code.
  virtual void take_python(const LearnPython& /*learn*/) {}
  /// Adds the names of threads that are known by now. Called with the names of each report.
  virtual void add_names(Names& /*names*/) const {}
  /// `names` has more than those of begin() had.
  virtual void use_names(const Names& /*names*/) {}
  /// `meanwhile` must be called every few ms while the listener waits for another process: the
  /// kernel's records do not wait. Called before anything else; with an empty function after
  /// everything else.
  virtual void while_waiting(const std::function<void()>& /*meanwhile*/) {}
  /// Adds descriptors that end the wait for the next polled().
  virtual void add_to(std::vector<pollfd>&) const {}
  /// The source was read, at the latest at Source::due().
  virtual void polled() {}
  virtual void interval(const SessionInfo&, Duration wall) = 0;
  /// Whether so_far() is wanted.
  virtual bool wants_receipts() const { return false; }
  /// Called before each interval() within the session: what was seen and lost until now.
  virtual void so_far(const SessionInfo&, const Receipt&) {}
  /// Called twice a second: writes buffered output.
  virtual void tick() = 0;
  /// Whether a limit was passed, which ends the session.
  virtual bool wants_stop() const { return false; }
  /// Whether the user has ended the session.
  virtual bool has_quit() const { return false; }
  /// The session ends now, or has failed: standard error is free for messages again.
  virtual void ending() {}
  /// The last record has come. Long work is done here, so that the receipt's account of Overdue's
  /// own work includes it.
  virtual void settle() {}
  virtual void end(const SessionInfo&, const Receipt&) = 0;
};

}  // namespace overdue
