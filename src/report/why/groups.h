#pragma once

#include <string>
#include <vector>

#include "report/offcpu/table.h"

namespace overdue {

/// Threads with one name in one process, or in all processes if these are many; most time on the
/// CPU, uninterruptible or runnable first.
std::vector<OffcpuRow> groups_of(const std::vector<OffcpuRow>& threads);

/// "holder[12]"; of several threads "waiter-*".
std::string group_name(const OffcpuRow& group);

}  // namespace overdue
