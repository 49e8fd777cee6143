#include "sinks/make_sink.h"

#include <algorithm>
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

void check_sink_format(std::string_view format) {
  if (std::ranges::find(formats, format) != formats.end()) return;
  const std::string_view near = nearest(format, formats);
  std::string hint = fmt::format("formats: {}", fmt::join(formats, ", "));
  if (!near.empty()) hint = fmt::format("did you mean '{}'? ", near) + hint;
  throw Error("unknown format '{}'", printable(format)).hint(std::move(hint)).exit_status(2);
}

std::unique_ptr<Sink> make_sink(std::string_view format, Output& output,
                                const SinkOptions& options) {
  check_sink_format(format);
  if (format == "text") return std::make_unique<TextSink>(output, options);
  if (format == "csv") return std::make_unique<CsvSink>(output);
  if (format == "json" && !options.stream) return std::make_unique<JsonSink>(output);
  return std::make_unique<NdjsonSink>(output);
}

}  // namespace overdue
