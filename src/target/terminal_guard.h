#pragma once

#include <sys/types.h>

namespace overdue {

/// For a child that becomes `user`, between fork and execve, while it is still root;
/// async-signal-safe. A program may type into its controlling terminal (ioctl TIOCSTI, and the
/// pasting of TIOCLINUX on a console): where that terminal is another user's, root's shell would
/// read it. From now on both are refused (EPERM) to this process and all that it starts; the
/// terminal is otherwise as it was. Nothing changes where there is no terminal, or it is the user's
/// own. Returns 0 or an errno value.
int forbid_typing_as(uid_t user);

}  // namespace overdue
