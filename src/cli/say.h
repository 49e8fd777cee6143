#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace overdue {

/// Tells a person something on standard error. Does not fail: where nobody reads that any more, as
/// behind `2>&1 | head`, what else is done goes on all the same.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace overdue
