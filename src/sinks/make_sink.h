#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/sink.h"
#include "sinks/output.h"

namespace overdue {

struct SinkOptions {
  bool color = false;         ///< text only
  bool whole_stacks = false;  ///< text only, in findings
  std::size_t width = 0;      ///< text only: columns at which lines of findings fold; 0: never
  bool live = false;          ///< text only: `output` is a terminal to be redrawn
  bool stream =
      false;  ///< records or intervals will come: "json" then means one object a line, as NDJSON
};

/// Names of the formats that make_sink() takes; the default is first.
std::span<const std::string_view> sink_formats();

/// Throws Error (exit status 2) for an unknown format.
void check_sink_format(std::string_view format);

/// Throws Error (exit status 2) if `format` is a page, which has no place for the stream of records
/// that `option` asks for.
void refuse_stream_on_page(std::string_view format, std::string_view option);

/// A sink that writes `format` to `output`, which must outlive it. Throws Error (exit status 2) for
/// an unknown format.
std::unique_ptr<Sink> make_sink(std::string_view format, Output& output,
                                const SinkOptions& options);

}  // namespace overdue
