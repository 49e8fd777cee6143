#include "cli/workload_request.h"

#include <utility>

namespace overdue {

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
