#pragma once

#include <signal.h>

#include <optional>

#include "base/fd.h"

namespace overdue {

/// SIGINT, SIGTERM and SIGHUP as something to poll. Created before other threads. After the first
/// signal the next SIGINT or SIGTERM ends the process at once: the kernel detaches what we
/// attached.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  struct Arrived {
    int number;
    bool from_terminal;  ///< ^C: the foreground process group has it already
  };
  int fd() const { return fd_.get(); }
  /// The signal that has arrived, if one has. From then on signals have their default effect.
  std::optional<Arrived> take();

 private:
  void restore();

  Fd fd_;
  sigset_t before_{};
  bool restored_ = false;
};

}  // namespace overdue
