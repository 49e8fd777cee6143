#include "sinks/make_sink.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "sinks/csv.h"
#include "sinks/html.h"
#include "sinks/json.h"
#include "sinks/ndjson.h"
#include "sinks/text.h"

namespace overdue {
namespace {

struct Format {
  std::string_view name;
  std::unique_ptr<Sink> (*make)(Output&, const SinkOptions&);
};

template <typename T>
std::unique_ptr<Sink> make(Output& output, const SinkOptions&) {
  return std::make_unique<T>(output);
}
std::unique_ptr<Sink> make_text(Output& output, const SinkOptions& options) {
  return std::make_unique<TextSink>(output, options);
}
std::unique_ptr<Sink> make_json(Output& output, const SinkOptions& options) {
  if (options.stream) return std::make_unique<NdjsonSink>(output);
  return std::make_unique<JsonSink>(output);
}

// One line per format; the default is first.
constexpr std::array formats = std::to_array<Format>({
    {"text", make_text},
    {"json", make_json},
    {"csv", make<CsvSink>},
    {"ndjson", make<NdjsonSink>},
    {"html", make<HtmlSink>},
});

constexpr auto names = [] {
  std::array<std::string_view, formats.size()> all{};
  std::ranges::transform(formats, all.begin(), [](const auto& format) { return format.name; });
  return all;
}();

}  // namespace

std::span<const std::string_view> sink_formats() {
  return names;
}

void check_sink_format(std::string_view format) {
  if (std::ranges::find(names, format) != names.end()) return;
  const std::string_view near = nearest(format, names);
  std::string hint = fmt::format("formats: {}", fmt::join(names, ", "));
  if (!near.empty()) hint = fmt::format("did you mean '{}'? ", near) + hint;
  throw Error("unknown format '{}'", printable(format)).hint(std::move(hint)).exit_status(2);
}

void refuse_stream_on_page(std::string_view format, std::string_view option) {
  if (format != "html") return;
  throw Error("-f html and {} do not go together", option)
      .hint("a page has no place for a stream: use -f text, csv or ndjson")
      .exit_status(2);
}

std::unique_ptr<Sink> make_sink(std::string_view format, Output& output,
                                const SinkOptions& options) {
  check_sink_format(format);
  return std::ranges::find(formats, format, &Format::name)->make(output, options);
}

}  // namespace overdue
