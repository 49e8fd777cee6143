#pragma once

#include <optional>

#include "base/fd.h"

namespace overdue {

/// SIGINT, SIGTERM and SIGHUP as something to poll. After the first of them all have their default
/// effect again: the next one ends the process at once, whatever it is blocked in, and the kernel
/// detaches what we attached. One object at a time, used from one thread.
class StopSignals {
 public:
  /// Takes the signals that are not ignored: nohup's wish is kept.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  struct Arrived {
    int number;
    bool from_terminal;  ///< ^C: the foreground process group has it already
  };
  /// Readable when a signal has arrived.
  int fd() const { return reader_.get(); }
  /// The signal that has arrived, if one has.
  std::optional<Arrived> take();

 private:
  Fd reader_;
};

}  // namespace overdue
