#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "report/why/file_locks.h"

namespace overdue {

/// The locks of files that other processes hold at present and that these processes wait for, or
/// have open. Bounded; what cannot be read is left out.
std::vector<FileLock> file_locks_of(const std::set<std::uint32_t>& pids);

}  // namespace overdue
