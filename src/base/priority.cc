#include "base/priority.h"

#include <sys/resource.h>

namespace overdue {
namespace {

constexpr int ordinary = 0, raised = -10;

thread_local bool is_raised = false;  // a child process has the value of the thread that forked

// In Linux, process 0 of these calls is the calling thread.
bool set_level(int level) noexcept {
  return setpriority(PRIO_PROCESS, 0, level) == 0;
}

}  // namespace

RaisedPriority::RaisedPriority() {
  if (getpriority(PRIO_PROCESS, 0) == ordinary) is_raised = set_level(raised);
}

RaisedPriority::~RaisedPriority() {
  drop_raised_priority();
}

void drop_raised_priority() noexcept {
  if (is_raised) is_raised = !set_level(ordinary);
}

}  // namespace overdue
