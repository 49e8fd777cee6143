#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"

namespace overdue {

/// Opens a regular file for reading. A fifo or a device is never opened, not even for a moment:
/// that alone can block, or do something. An empty Fd, with the reason in errno, where that cannot
/// be.
Fd open_regular(const std::string& path);

enum class SymbolicLinks { followed, refused };

/// The same for the absolute path `path` as process `pid` sees it, whose root directory `root` is
/// (an O_PATH descriptor). No link, "..", or mount of that process leads out of its root. EREMOTE
/// where the way goes through a file system that another process or host serves: who serves it may
/// let us wait for as long as it likes.
Fd open_regular_in(const Fd& root, pid_t pid, const std::string& path, SymbolicLinks links);

/// The root directory of a process, in its mount namespace, for open_regular_in().
Fd open_root_of(pid_t pid);

}  // namespace overdue
