#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/record.h"
#include "kernel/membership.h"

namespace overdue {

/// One attached probe of a running session. Created loaded and attached, but disarmed; everything
/// is detached when it is destroyed. Used from the session's thread only.
class LiveProbe {
 public:
  virtual ~LiveProbe() = default;

  /// Delivers what the half of the cells that `epoch` does not name has gathered, as records, and
  /// empties it. Called after a grace period: no program writes there any more. By default there
  /// are no cells.
  virtual void drain_cells(std::uint32_t /*epoch*/, KernelTime /*now*/, const RecordHandler&) {}
  /// How full the cells in use are, 0 … 1: the session drains early when they fill up.
  virtual double fill(std::uint32_t /*epoch*/) const { return 0; }
  /// The session was disarmed at `end`: no span begins any more. Delivers the spans that are still
  /// open, each with its age at `end`, and detaches. A span that ends meanwhile is delivered as
  /// ended or as open, never as both and never as neither.
  virtual void finish(KernelTime end, const RecordHandler& handler) = 0;
  /// The schema of a record in the ring, or null.
  virtual const Schema* schema(std::uint16_t kind) const = 0;

  virtual Counters counters() const = 0;
  /// What this kernel does not let it see though it could see more elsewhere: a sentence each.
  virtual std::vector<std::string> left_out() const { return {}; }

  /// Around Session::calibrate(): measure getppid(2) whatever is asked for; then forget all of it.
  /// By default that call is nothing to the probe.
  virtual void begin_calibration() {}
  virtual void end_calibration() {}
};

}  // namespace overdue
