#pragma once

#include <string>

namespace overdue {

/// "ENOENT" for 2: the names of errno values (positive), including values that only the kernel sees
/// (ERESTARTSYS 512: a call that a signal is about to restart). A value without a name is
/// "errno_4000".
std::string errno_name(int code);

}  // namespace overdue
