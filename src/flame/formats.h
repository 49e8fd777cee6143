#pragma once

#include <span>
#include <string>
#include <string_view>

#include "flame/drawing.h"

namespace overdue {

/// The formats of a tree of stacks: "svg", "html", "folded", "speedscope", "pprof".
std::span<const std::string_view> flame_formats();
bool is_flame_format(std::string_view format);

/// The format by the end of the name of a file: `.html`, `.folded`, `.speedscope.json`, `.pb.gz`
/// and the like; else "svg".
std::string_view flame_format_of(std::string_view path);

/// The formats that show `options.differences`: the drawings.
bool shows_differences(std::string_view format);

/// The tree in `format`, one of flame_formats().
std::string flame_text(const StackTree& tree, const DrawingOptions& options,
                       std::string_view format);

}  // namespace overdue
