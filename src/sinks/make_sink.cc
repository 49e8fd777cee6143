#include "sinks/make_sink.h"

#include <array>
#include <string>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "sinks/csv.h"
#include "sinks/json.h"
#include "sinks/ndjson.h"
#include "sinks/text.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 4> formats{"text", "json", "csv", "ndjson"};

}  // namespace

std::span<const std::string_view> sink_formats() {
  return formats;
}

std::unique_ptr<Sink> make_sink(std::string_view format, Output& output,
                                const SinkOptions& options) {
  if (format == "text") return std::make_unique<TextSink>(output, options.color);
  if (format == "json" && !options.stream) return std::make_unique<JsonSink>(output);
  if (format == "json" || format == "ndjson") return std::make_unique<NdjsonSink>(output);
  if (format == "csv") return std::make_unique<CsvSink>(output);
  const std::string_view near = nearest(format, formats);
  std::string hint = fmt::format("formats: {}", fmt::join(formats, ", "));
  if (!near.empty()) hint = fmt::format("did you mean '{}'? ", near) + hint;
  throw Error("unknown format '{}'", printable(format)).hint(std::move(hint)).exit_status(2);
}

}  // namespace overdue
