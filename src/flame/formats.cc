#include "flame/formats.h"

#include <algorithm>
#include <array>

#include "flame/folded.h"
#include "flame/pprof.h"
#include "flame/speedscope.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 5> formats{"svg", "html", "folded", "speedscope", "pprof"};

struct Ending {
  std::string_view text, format;
};
constexpr Ending endings[] = {
    {".html", "html"},
    {".htm", "html"},
    {".folded", "folded"},
    {".txt", "folded"},
    {".pb.gz", "pprof"},
    {".pprof", "pprof"},
    {".speedscope.json", "speedscope"},
    {".speedscope", "speedscope"},
};

}  // namespace

std::span<const std::string_view> flame_formats() {
  return formats;
}

bool is_flame_format(std::string_view format) {
  return std::ranges::find(formats, format) != formats.end();
}

std::string_view flame_format_of(std::string_view path) {
  const auto* const found = std::ranges::find_if(
      endings, [path](const Ending& ending) { return path.ends_with(ending.text); });
  return found == std::end(endings) ? "svg" : found->format;
}

bool shows_differences(std::string_view format) {
  return format == "svg" || format == "html";
}

std::string flame_text(const StackTree& tree, const DrawingOptions& options,
                       std::string_view format) {
  if (format == "html") return flame_html(tree, options);
  if (format == "speedscope") return speedscope_json(tree, options.title);
  if (format == "pprof") return pprof_gzip(tree, options.title, options.footer);
  if (format != "folded") return flame_svg(tree, options);
  std::string text;
  append_folded(text, tree);
  return text;
}

}  // namespace overdue
