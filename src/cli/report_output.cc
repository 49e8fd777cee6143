#include "cli/report_output.h"

#include <unistd.h>

#include <cstdlib>

#include "base/output_file.h"
#include "sinks/make_sink.h"

namespace overdue {
namespace {

bool use_color(const std::string& color, int fd) {
  if (color != "auto") return color == "always";
  return isatty(fd) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

ReportOutput open_report(const OutputOptions& options, bool spawned, bool stream) {
  check_sink_format(options.format);  // before a file that exists is emptied
  ReportOutput report;
  if (!options.file.empty() && options.file != "-") {
    Fd file = create_output_file(options.file);
    const bool color = use_color(options.color, file.get());
    report.output = std::make_unique<Output>(std::move(file));
    report.sink = make_sink(options.format, *report.output,
                            {.color = color, .whole_stacks = options.verbose, .stream = stream});
    return report;
  }
  const int fd =
      spawned && !options.to_stdout && options.file.empty() ? STDERR_FILENO : STDOUT_FILENO;
  report.output = std::make_unique<Output>(fd);
  report.sink = make_sink(
      options.format, *report.output,
      {.color = use_color(options.color, fd), .whole_stacks = options.verbose, .stream = stream});
  return report;
}

}  // namespace overdue
