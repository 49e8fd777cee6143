#pragma once

#include <sys/types.h>

namespace overdue {

/// ^Z stops our program and us. While this object lives we stop when the program has, not before:
/// an editor or a pager first puts the terminal back, and the shell uses the terminal as soon as we
/// stop. An editor that reads ^Z as a key stops itself, and may be of a user who may not stop us.
/// A program that goes on in spite of ^Z keeps us going, too. Catches SIGTSTP and SIGCHLD.
/// Where SIGTSTP is ignored or handled already, nothing changes. One object at a time; `program` is
/// our child, and has not been waited for.
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
