#include "cli/measure_request.h"

#include <utility>

#include "base/error.h"

namespace overdue {

void check_program(const Invocation& invocation, const char* example) {
  if (invocation.has_program && invocation.program.empty())
    throw Error("no program after '--'").hint(example).exit_status(2);
}

MeasureRequest request_of_target(std::string command, const Invocation& invocation,
                                 TargetOptions target, const StopOptions& stop,
                                 const OutputOptions& output) {
  target.command = invocation.program;
  MeasureRequest request;
  request.command = std::move(command);
  request.selection = parse_target(target);
  request.inherited = invocation.inherited;
  request.duration = stop.parsed();
  request.interval = output.parsed_interval();
  request.quiet = output.quiet;
  request.verbose = output.verbose;
  request.streams = request.interval.has_value();
  return request;
}

MeasureRequest request_of_workload(std::string command, const std::vector<std::uint32_t>& cpus,
                                   const std::optional<std::string>& cpus_text,
                                   const StopOptions& stop, const OutputOptions& output, bool live,
                                   bool every_one) {
  MeasureRequest request;
  request.command = std::move(command);
  request.selection.kind = TargetKind::all;
  if (cpus_text) {
    request.selection.cpus = cpus;
    request.selection.cpus_text = *cpus_text;
  }
  request.duration = stop.parsed();
  request.interval = output.parsed_interval();
  if (live && !request.interval) request.interval = std::chrono::seconds(1);
  request.quiet = output.quiet;
  request.verbose = output.verbose;
  request.streams = live || every_one || request.interval.has_value();
  request.workload_threads = true;
  return request;
}

}  // namespace overdue
