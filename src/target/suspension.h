#pragma once

#include <sys/types.h>

namespace overdue {

/// ^Z stops the program and Overdue. While this object lives, Overdue stops after the program has
/// stopped, not before: an editor or a pager first restores the terminal, and the shell uses the
/// terminal as soon as Overdue stops. An editor that reads ^Z as a key stops itself, and may run as
/// a user who may not stop Overdue. A program that runs on in spite of ^Z keeps Overdue running
/// too. Catches SIGTSTP and SIGCHLD. If SIGTSTP is already ignored or handled, nothing changes. One
/// object at a time; `program` is a child that has not been waited for.
class Suspension {
 public:
  explicit Suspension(pid_t program);
  ~Suspension();
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;

 private:
  bool active_ = false;
};

}  // namespace overdue
