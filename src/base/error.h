#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace overdue {

/// The only exception type: the current operation cannot finish. The message names the failed
/// action, its object and the reason (lower case, no full stop); the hint says what to do next.
/// Thrown anywhere, caught once, in main().
class Error : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}

  /// Adds the next step for the user: `throw Error("…").hint("…")`.
  Error&& hint(std::string text) && {
    hint_ = std::move(text);
    return std::move(*this);
  }
  const std::string& hint() const { return hint_; }

  /// Adds lines of a library's log, which main() prints before the message with -v.
  Error&& log(std::string text) && {
    log_ = std::move(text);
    return std::move(*this);
  }
  const std::string& log() const { return log_; }

  /// Sets the exit status of main() (see docs/commands/overdue.md); 1 unless set.
  Error&& exit_status(int status) && {
    exit_status_ = status;
    return std::move(*this);
  }
  int exit_status() const { return exit_status_; }

  /// main() prints nothing: there is no reader any more, as behind `| head`.
  Error&& silently() && {
    is_silent_ = true;
    return std::move(*this);
  }
  bool is_silent() const { return is_silent_; }

 private:
  std::string hint_;
  std::string log_;
  int exit_status_ = 1;
  bool is_silent_ = false;
};

/// The meaning of `errno` value `code` (positive), as text.
inline std::string errno_text(int code) {
  char buffer[128];
  return strerror_r(code, buffer, sizeof buffer);
}

/// Throws if `result` is a negative errno value, as libbpf returns; otherwise returns `result`.
template <typename... Args>
int check(int result, fmt::format_string<Args...> format, Args&&... args) {
  if (result < 0)
    throw Error("{}: {}", fmt::format(format, std::forward<Args>(args)...), errno_text(-result));
  return result;
}

/// Throws if `result` is -1 with the reason in `errno`, as system calls return; otherwise returns
/// `result`.
template <typename... Args>
int check_errno(int result, fmt::format_string<Args...> format, Args&&... args) {
  if (result >= 0) return result;
  int code = errno;
  throw Error("{}: {}", fmt::format(format, std::forward<Args>(args)...), errno_text(code));
}

}  // namespace overdue
