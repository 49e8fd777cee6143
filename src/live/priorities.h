#pragma once

#include <filesystem>
#include <vector>

#include "report/offcpu/table.h"
#include "report/why/remarks.h"

namespace overdue {

/// Why threads that could run had to give way to the threads that had the CPU, by tid: their nice
/// value, their policy, the weight of their cgroup. A thread whose rivals have no priority over it
/// is left out, as is one whose rivals have ended. `proc`: with the mounts and the threads.
std::vector<Remark> lower_priorities(const std::vector<OffcpuRow>& threads,
                                     const std::filesystem::path& proc = "/proc");

}  // namespace overdue
