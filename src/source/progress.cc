#include "source/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/signals_blocked.h"
#include "base/thread_rights.h"
#include "source/say.h"

namespace overdue {

using namespace std::chrono_literals;

Progress::Progress(bool wanted) {
  if (!wanted || isatty(STDERR_FILENO) != 1) return;
  const SignalsBlocked blocked;
  drawer_ = std::thread([this] {
    ThreadRights{}.apply();  // drawing needs no rights
    draw();
  });
}

Progress::~Progress() {
  if (!drawer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    wipe();
    stop_ = true;
  }
  changed_.notify_one();
  drawer_.join();
}

void Progress::step(std::string what) {
  if (!drawer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    wipe();
    what_ = std::move(what);
    since_ = KernelClock::now();
  }
  changed_.notify_one();
}

void Progress::draw() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (what_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(KernelClock::now() - since_);
    if (age >= 1s) {
      say("\r\x1b[Koverdue: {}, {} s", what_, age.count());
      std::fflush(stderr);
      shown_ = true;
    }
    changed_.wait_for(lock, 1s);
  }
}

void Progress::wipe() {
  if (!shown_) return;
  say("\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace overdue
