#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/record.h"
#include "kernel/membership.h"

namespace overdue {

/// One attached probe of a running session. Constructed loaded and attached, but disarmed; the
/// destructor detaches everything. Used by the session's thread only.
class LiveProbe {
 public:
  virtual ~LiveProbe() = default;

  /// Counts the epochs of a probe's cells: its programs read the word.
  using Epoch = std::uint32_t session_control::*;
  virtual Epoch epoch() const { return &session_control::epoch; }
  /// Delivers the cells of the half that `epoch` does not name, as records, and empties that half.
  /// Called after a grace period: no program writes there any more. By default there are no cells.
  virtual void drain_cells(std::uint32_t /*epoch*/, KernelTime /*now*/, const RecordHandler&) {}
  /// Fill level of the cells in use, 0 … 1: the session drains early when they fill up.
  virtual double fill(std::uint32_t /*epoch*/) const { return 0; }
  /// The session was disarmed at `end`: no span begins any more. Delivers the spans that are still
  /// open, each with its age at `end`, and detaches. A span that ends during the call is delivered
  /// once, as ended or as open.
  virtual void finish(KernelTime end, const RecordHandler& handler) = 0;
  /// The schema of a record in the ring buffer, or null.
  virtual const Schema* schema(std::uint16_t kind) const = 0;

  virtual Counters counters() const = 0;
  /// The events that the probe measures on other kernels, but not on this one: a sentence each.
  virtual std::vector<std::string> left_out() const { return {}; }

  /// Called before and after Session::calibrate(). In between, the probe measures getppid(2),
  /// whatever its options are; afterwards it drops all results. The default does nothing.
  virtual void begin_calibration() {}
  virtual void end_calibration() {}
};

}  // namespace overdue
