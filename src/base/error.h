#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace overdue {

/// The one exception type: the current operation cannot finish. The message says what could not be
/// done, to what, and why (lower case, no full stop); the hint says what to do next. Thrown
/// anywhere, caught once, in main().
class Error : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}

  /// Adds what the user should do next: `throw Error("…").hint("…")`.
  Error&& hint(std::string text) && {
    hint_ = std::move(text);
    return std::move(*this);
  }
  const std::string& hint() const { return hint_; }

  /// Adds what main() prints with -v before the message: lines of a library's log.
  Error&& log(std::string text) && {
    log_ = std::move(text);
    return std::move(*this);
  }
  const std::string& log() const { return log_; }

  /// The exit status main() gives this failure (see docs/commands/overdue.md); 1 unless set.
  Error&& exit_status(int status) && {
    exit_status_ = status;
    return std::move(*this);
  }
  int exit_status() const { return exit_status_; }

 private:
  std::string hint_;
  std::string log_;
  int exit_status_ = 1;
};

/// What `errno` value `code` (positive) means, as text.
inline std::string errno_text(int code) {
  char buffer[128];
  return strerror_r(code, buffer, sizeof buffer);
}

/// Throws when `result` is a negative errno, as libbpf returns; otherwise passes it through.
template <typename... Args>
int check(int result, fmt::format_string<Args...> format, Args&&... args) {
  if (result < 0)
    throw Error("{}: {}", fmt::format(format, std::forward<Args>(args)...), errno_text(-result));
  return result;
}

/// Throws when `result` is -1 with the reason in `errno`, as system calls return; otherwise passes
/// it through.
template <typename... Args>
int check_errno(int result, fmt::format_string<Args...> format, Args&&... args) {
  if (result >= 0) return result;
  int code = errno;
  throw Error("{}: {}", fmt::format(format, std::forward<Args>(args)...), errno_text(code));
}

}  // namespace overdue
