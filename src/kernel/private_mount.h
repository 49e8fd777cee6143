#pragma once

#include "base/fd.h"

namespace overdue {

/// Mounts a kernel file system without a mount point. It is reachable only through the descriptor
/// (`/proc/self/fd/N/…`), invisible to other processes, and unmounted when the descriptor is
/// closed. Needs CAP_SYS_ADMIN; returns an empty Fd if the kernel refuses.
Fd mount_privately(const char* file_system);

}  // namespace overdue
