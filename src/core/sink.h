#pragma once

#include "core/record.h"
#include "core/section.h"
#include "core/session_info.h"

namespace overdue {

/// The receiver of measurements. The calls of a session come from one thread, in this order: begin,
/// then records (in time order) and sections in any mix, then end. A sink is given the stream or
/// descriptor to write to; it never opens a path.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin(const SessionInfo&) {}
  virtual void record(const Record&) {}
  virtual void section(const SectionPtr&) {}
  /// Pure: no sink may forget the receipt.
  virtual void end(const SessionInfo&, const Receipt&) = 0;
};

}  // namespace overdue
