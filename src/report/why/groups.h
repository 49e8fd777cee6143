#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/offcpu/table.h"
#include "report/why/others_waits.h"

namespace overdue {

/// Threads with one name in one process, or in all processes if these are many; most time on the
/// CPU, uninterruptible or runnable first.
std::vector<WhyRow> groups_of(const std::vector<OffcpuRow>& threads);

/// "holder[12]"; of several threads "waiter-*".
std::string group_name(const OffcpuRow& group);

/// The same with the number of threads: "waiter-* ×8".
std::string counted_name(const OffcpuRow& group);

/// The name of a row by this word, with the number of its threads or processes: "sh ×522 from
/// cron[4126]".
std::string row_name(const OffcpuRow& row, Whose by);

/// The parts of a row's time in `width` columns: a full block for time on the CPU, a half one for
/// runnable time, a dot for the rest.
std::string time_bar(const OffcpuRow& row, std::size_t width);

}  // namespace overdue
