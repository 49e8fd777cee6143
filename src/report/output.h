#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

/// Where and how a report is written.
struct OutputOptions {
  std::string format = "text";
  std::string file;
  std::optional<std::string> interval;
  std::string color = "auto";
  bool to_stdout = false;
  bool quiet = false;
  bool verbose = false;

  std::optional<Duration> parsed_interval() const;
};

/// The destination of a report: the opened output, and the sink that writes to it.
struct ReportOutput {
  std::unique_ptr<Output> output;
  std::unique_ptr<Sink> sink;
};

/// Throws Error (exit status 2) unless `format` is one of a sink, or of a tree of stacks.
void check_sink_or_flame_format(std::string_view format);

/// Whether the output is a terminal, on which a table may be redrawn.
bool goes_to_a_terminal(const OutputOptions& options);

/// Opens the file of -o; else stdout, with --stdout or if no spawned program uses it; else stderr.
/// Throws Error.
std::unique_ptr<Output> open_output(const OutputOptions& options, bool spawned);

/// Opens the output as open_output() does, and makes the sink. `stream`: records or intervals will
/// come. `live`: the output is a terminal on which figures are redrawn. Throws Error.
ReportOutput open_report(const OutputOptions& options, bool spawned, bool stream,
                         bool live = false);

}  // namespace overdue
