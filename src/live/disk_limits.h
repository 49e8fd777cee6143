#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "report/why/remarks.h"

namespace overdue {

/// The limits that the cgroups of these processes, and those above, set to bytes or requests of a
/// disk at present: "vda: the limit of cgroup /web, 1.0 MB/s of writes (io.max)". Of a process and
/// a disk, the nearest cgroup's. `root`: the folder with /proc and /sys.
std::vector<Remark> disk_limits(const std::set<std::uint32_t>& pids,
                                const std::filesystem::path& root = "/");

}  // namespace overdue
