#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

struct SinkOptions {
  bool color = false;         ///< text only
  bool whole_stacks = false;  ///< text only: of findings
  bool stream =
      false;  ///< records or intervals will come: "json" then means one object a line, as NDJSON
};

/// The names make_sink() takes, the default first.
std::span<const std::string_view> sink_formats();

/// Throws Error (exit status 2) for an unknown format.
void check_sink_format(std::string_view format);

/// A sink that writes `format` to `output`, which must outlive it. Throws Error (exit status 2) for
/// an unknown format.
std::unique_ptr<Sink> make_sink(std::string_view format, Output& output,
                                const SinkOptions& options);

}  // namespace overdue
