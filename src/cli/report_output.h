#pragma once

#include <memory>

#include "cli/options.h"
#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

/// The way a report goes: the opened output and the sink that writes to it.
struct ReportOutput {
  std::unique_ptr<Output> output;
  std::unique_ptr<Sink> sink;
};

/// A table there may be drawn anew again and again.
bool goes_to_a_terminal(const OutputOptions& options);

/// To -o, to stdout with --stdout or when no program of ours uses it, else to stderr. Throws Error.
std::unique_ptr<Output> open_output(const OutputOptions& options, bool spawned);

/// To -o, to stdout with --stdout or when no program of ours uses it, else to stderr. `stream`:
/// records or intervals will come. Throws Error.
ReportOutput open_report(const OutputOptions& options, bool spawned, bool stream);

}  // namespace overdue
