#include "analysis/raw_wait.h"

#include <algorithm>

namespace overdue {

std::uint64_t RawWait::unblocked_ns() const {
  const bool woken = fixed.wake_ns > out_ns() && fixed.wake_ns <= in_ns();
  return woken ? fixed.wake_ns : in_ns();
}

bool RawWait::could_run_all_along() const {
  return fixed.state == WAIT_PREEMPTED || fixed.state == WAIT_THROTTLED ||
         fixed.state == WAIT_UNKNOWN;
}

std::uint64_t RawWait::blocked_ns() const {
  return could_run_all_along() ? 0 : unblocked_ns() - out_ns();
}

std::uint64_t RawWait::throttled_ns() const {
  return std::min<std::uint64_t>(fixed.throttled_ns, length_ns() - blocked_ns());
}

std::uint64_t RawWait::runqueue_ns() const {
  if (fixed.state == WAIT_PREEMPTED || fixed.state == WAIT_UNKNOWN) return 0;
  return length_ns() - blocked_ns() - throttled_ns();
}

}  // namespace overdue
