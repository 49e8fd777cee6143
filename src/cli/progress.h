#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"

namespace overdue {

/// One line on the terminal that says what takes so long: shown once a step has lasted a second,
/// then every second with its age, wiped when the step ends. Nothing is ever written to a pipe or a
/// file. Used from one thread; the line is drawn by another, because steps block.
class Progress {
 public:
  /// Shows nothing unless `wanted` and standard error is a terminal.
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The step that begins now, such as "attaching". Empty: none, until the next call.
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
  std::thread drawer_;  ///< not running where nothing is shown
};

}  // namespace overdue
