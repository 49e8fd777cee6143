#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "report/offcpu/sections.h"

namespace overdue {

/// The table of rows, and below it the displacers of the threads that were preempted for longest.
/// `width`: columns at which lines below the table fold; 0: never.
std::string offcpu_text(const std::vector<OffcpuRow>& rows, const OffcpuShow& show,
                        std::size_t width);

/// The table of CPUs. `top`: number of rows; 0: all.
std::string cpus_text(const std::vector<OffcpuCpu>& cpus, std::size_t top);

/// The table of displacers. `top`: number of rows; 0: all.
std::string displacers_text(const std::vector<Displacer>& displacers, std::size_t top);

/// A line for the longest ended wait of each row, in the form of `max_offcpu` tools:
/// "2026-11-27 10:00:01.000000 max offcpu for bash is 12us".
std::string longest_lines(const std::vector<OffcpuRow>& rows, WallTime end);

/// A line for the receive queue of each socket that had something in it, or had no room.
std::string socket_lines(const OffcpuNet& net, WallTime time);

}  // namespace overdue
