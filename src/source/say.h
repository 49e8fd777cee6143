#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace overdue {

/// Prints a message for a person on standard error. Does not fail: if the reader has gone, as in
/// `2>&1 | head`, all other work goes on.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace overdue
