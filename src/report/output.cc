#include "report/output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "flame/formats.h"
#include "sinks/live_table.h"
#include "sinks/make_sink.h"
#include "target/output_file.h"

namespace overdue {
namespace {

bool use_color(const std::string& color, int fd) {
  if (color != "auto") return color == "always";
  return isatty(fd) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

std::optional<Duration> OutputOptions::parsed_interval() const {
  if (!interval) return std::nullopt;
  const Duration value = parse_duration(*interval, "--interval");
  if (value < std::chrono::milliseconds(10))
    throw Error("bad time '{}' for --interval: shorter than 10ms", *interval)
        .hint("use --calls for every single call")
        .exit_status(2);
  return value;
}

void check_sink_or_flame_format(std::string_view format) {
  if (is_flame_format(format) || std::ranges::find(sink_formats(), format) != sink_formats().end())
    return;
  throw Error("unknown format '{}'", printable(format))
      .hint("formats: text, json, csv, ndjson, html, folded, svg, speedscope, pprof")
      .exit_status(2);
}

bool goes_to_a_terminal(const OutputOptions& options) {
  return options.format == "text" && options.file.empty() && !options.quiet &&
         isatty(STDOUT_FILENO) == 1;
}

std::unique_ptr<Output> open_output(const OutputOptions& options, bool spawned) {
  const bool to_file = !options.file.empty() && options.file != "-";
  const bool to_stderr = spawned && !options.to_stdout && options.file.empty();
  auto output = to_file ? std::make_unique<Output>(create_output_file(options.file))
                        : std::make_unique<Output>(to_stderr ? STDERR_FILENO : STDOUT_FILENO);
  output->wait_at_close_only();
  return output;
}

ReportOutput open_report(const OutputOptions& options, bool spawned, bool stream, bool live) {
  check_sink_format(options.format);  // before an existing file is emptied
  ReportOutput report;
  report.output = open_output(options, spawned);
  const int fd = report.output->fd();
  report.sink = make_sink(options.format, *report.output,
                          {.color = use_color(options.color, fd),
                           .whole_stacks = options.verbose,
                           .width = isatty(fd) == 1 ? screen_size(fd).columns : 0,
                           .live = live,
                           .stream = stream});
  return report;
}

}  // namespace overdue
