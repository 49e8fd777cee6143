#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"

namespace overdue {

/// Opens a regular file for reading. A fifo or a device is never opened, not even briefly: opening
/// alone can block or have effects. An empty Fd, with the reason in errno, on failure.
Fd open_regular(const std::string& path);

enum class SymbolicLinks { followed, refused };

/// Like open_regular(), for the absolute path `path` as process `pid` sees it. `root` is the
/// process's root directory (an O_PATH descriptor). No link, "..", or mount of the process leads
/// out of its root. Fails with EREMOTE if the path leads through a file system that another process
/// or host serves: the server could delay Overdue for as long as it likes.
Fd open_regular_in(const Fd& root, pid_t pid, const std::string& path, SymbolicLinks links);

/// The root directory of a process, in its mount namespace, for open_regular_in().
Fd open_root_of(pid_t pid);

}  // namespace overdue
