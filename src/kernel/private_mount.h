#pragma once

#include "base/fd.h"

namespace overdue {

/// A mount of a kernel file system that is in no directory: reachable through the descriptor
/// (`/proc/self/fd/N/…`), seen by nobody else, gone when closed. Needs CAP_SYS_ADMIN; an empty Fd
/// where refused.
Fd mount_privately(const char* file_system);

}  // namespace overdue
