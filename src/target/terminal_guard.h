#pragma once

#include <sys/types.h>

namespace overdue {

/// Called in a child between fork and execve, while it is still root and about to become `user`;
/// async-signal-safe. A program can type into its controlling terminal (ioctl TIOCSTI, and the
/// paste of TIOCLINUX on a console). If the terminal belongs to another user, root's shell would
/// read that input. From now on, both ioctls are refused (EPERM) to this process and its
/// descendants; the terminal is otherwise unchanged. Nothing changes if there is no terminal or it
/// is the user's own. Returns 0 or an errno value.
int forbid_typing_as(uid_t user);

}  // namespace overdue
