#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/session_info.h"

namespace overdue {

/// What the machine says of a process or a thread at the end of a session, and what explains its
/// causes.
struct Remark {
  std::uint32_t id = 0;  ///< pid, or tid
  std::string words;     ///< "12 of 12 descriptors are open"; printable
};

/// What a remark is about: a limit that a process has reached.
inline constexpr std::string_view of_limit = "limit";

/// Likewise: the limit of memory that the cgroup of a process has reached.
inline constexpr std::string_view of_memory_limit = "memory_limit";

/// Likewise: the limit that the cgroup of a process sets to a disk.
inline constexpr std::string_view of_disk_limit = "disk_limit";

/// Likewise: what a process wrote to files of disks.
inline constexpr std::string_view of_disk_writer = "disk_writer";

/// Likewise: CPUs to which a thread is bound.
inline constexpr std::string_view of_bound_thread = "bound_thread";

/// Likewise: what gives other threads priority over a thread.
inline constexpr std::string_view of_lower_priority = "lower_priority";

/// The remarks of one kind as a setting that a recording keeps, and back. A damaged setting has
/// fewer.
void keep_remarks(std::string_view kind, const std::vector<Remark>& remarks, SessionInfo& info);
std::vector<Remark> kept_remarks(std::string_view kind, const SessionInfo& info);

}  // namespace overdue
