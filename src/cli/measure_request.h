#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "source/measure.h"

namespace overdue {

/// Throws Error (exit status 2) for `--` without a program; `example` is a command with one.
void check_program(const Invocation& invocation, const char* example);

/// The request of a command that measures a target: `target`, or the program of `invocation`.
/// Throws Error if the target is not well-formed.
MeasureRequest request_of_target(std::string command, const Invocation& invocation,
                                 TargetOptions target, const StopOptions& stop,
                                 const OutputOptions& output);

/// The request of a command that measures workload threads, one on each of `cpus`. `cpus_text`: the
/// value of --cpu, if given. `live`: the table is redrawn each second, or at --interval.
/// `every_one`: each measurement is written as it comes.
MeasureRequest request_of_workload(std::string command, const std::vector<std::uint32_t>& cpus,
                                   const std::optional<std::string>& cpus_text,
                                   const StopOptions& stop, const OutputOptions& output, bool live,
                                   bool every_one);

}  // namespace overdue
