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

/// The same for the absolute path `path` as a process sees it whose root directory `root` is (an
/// O_PATH descriptor). No link, "..", or mount of that process leads out of its root.
Fd open_regular_in(const Fd& root, const std::string& path, SymbolicLinks links);

/// The root directory of a process, in its mount namespace, for open_regular_in().
Fd open_root_of(pid_t pid);

}  // namespace overdue
