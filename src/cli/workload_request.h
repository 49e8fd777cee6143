#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "source/measure.h"

namespace overdue {

/// The request of a command that measures workload threads, one on each of `cpus`. `cpus_text`: the
/// value of --cpu, if given. `live`: the table is redrawn each second, or at --interval.
/// `every_one`: each measurement is written as it comes.
MeasureRequest request_of_workload(std::string command, const std::vector<std::uint32_t>& cpus,
                                   const std::optional<std::string>& cpus_text,
                                   const StopOptions& stop, const OutputOptions& output, bool live,
                                   bool every_one);

}  // namespace overdue
