#pragma once

#include <optional>

#include "base/fd.h"

namespace overdue {

/// A descriptor to poll for SIGINT, SIGTERM, SIGHUP and the other signals that end a process on
/// purpose. After the first signal, all have their default effect again: the next one ends the
/// process at once, whatever the process is blocked in, and the kernel detaches the BPF programs.
/// One object at a time, used by one thread.
class StopSignals {
 public:
  /// Takes the signals that are not ignored: under nohup, SIGHUP stays ignored.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  struct Arrived {
    int number;
    bool from_terminal;  ///< ^C: the foreground process group has got the signal
  };
  /// Readable when a signal has arrived.
  int fd() const { return reader_.get(); }
  /// The signal that has arrived, if any.
  std::optional<Arrived> take();

  /// Has `last_words`, an async-signal-safe function, called before a second signal ends the
  /// process; null: nothing is called.
  static void before_the_second(void (*last_words)());

 private:
  Fd reader_;
};

}  // namespace overdue
