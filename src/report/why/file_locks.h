#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/session_info.h"

namespace overdue {

/// A lock of a file (flock, fcntl) that one process holds and another process wants, or may want:
/// the process has the file open.
struct FileLock {
  std::uint32_t wanted_by = 0;  ///< pid
  ThreadName holder;            ///< its main thread
  std::string path;             ///< raw; empty: not known
};

/// The locks as a setting that a recording keeps, and back. A damaged setting has fewer locks.
void keep_file_locks(const std::vector<FileLock>& locks, SessionInfo& info);
std::vector<FileLock> kept_file_locks(const SessionInfo& info);

}  // namespace overdue
