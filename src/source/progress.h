#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"

namespace overdue {

/// One line on the terminal that names a long step: shown once the step has lasted a second, then
/// every second with its age, wiped when the step ends. Never written to a pipe or a file. Used by
/// one thread; another thread draws the line, because steps block.
class Progress {
 public:
  /// Shows nothing unless `wanted` and standard error is a terminal.
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a step, such as "attaching". Empty: no step until the next call.
  void step(std::string what);

 private:
  void draw();
  void wipe();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  KernelTime since_{};
  bool shown_ = false;
  bool stop_ = false;
  std::thread drawer_;  ///< not running if nothing is shown
};

}  // namespace overdue
