#include "symbols/open_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "symbols/served_devices.h"

namespace overdue {
namespace {

constexpr unsigned max_links = 40;  // the kernel's own limit

/// The status that the kernel has cached, without a request to the server of the file.
std::optional<struct statx> remembered(const Fd& named) {
  struct statx status{};
  constexpr int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (!named || statx(named.get(), "", flags, STATX_TYPE, &status) != 0) return std::nullopt;
  return status;
}

// O_PATH names a file without opening it; once its type is known, exactly that file is opened.
Fd opened(const Fd& named) {
  const auto status = remembered(named);
  if (!status) return {};
  if (!S_ISREG(status->stx_mode)) {
    errno = EINVAL;
    return {};
  }
  const std::string path = fmt::format("/proc/self/fd/{}", named.get());
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

/// Walks from name to name, because a folder that another process or host serves must not be
/// searched.
class Walk {
 public:
  Walk(const Fd& root, pid_t pid, SymbolicLinks links) : root_(root), pid_(pid), links_(links) {}

  /// An O_PATH descriptor; an empty Fd, with the reason in errno, on failure.
  Fd to(std::string_view path) {
    prepend(path);
    if (!may_look_into(root_)) return {};
    while (!names_.empty()) {
      const std::string name = std::move(names_.front());
      names_.pop_front();
      if (name == ".") continue;
      if (name == "..") {
        if (!way_.empty()) way_.pop_back();  // not out of the root
        continue;
      }
      Fd next(::openat(here().get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!next || !may_look_into(next)) return {};
      if (S_ISLNK(status_.stx_mode)) {
        if (!follow(next)) return {};
      } else if (names_.empty()) {
        return next;
      } else {
        way_.push_back(std::move(next));
      }
    }
    errno = EISDIR;
    return {};
  }

 private:
  const Fd& here() const { return way_.empty() ? root_ : way_.back(); }
  void prepend(std::string_view path) {
    const auto parts = split(path, '/');
    names_.insert(names_.begin(), parts.begin(), parts.end());
  }
  bool may_look_into(const Fd& named) {
    const auto status = remembered(named);
    if (!status) return false;
    status_ = *status;
    if (!served_devices().is_served(makedev(status_.stx_dev_major, status_.stx_dev_minor), pid_,
                                    named))
      return true;
    errno = EREMOTE;
    return false;
  }
  bool follow(const Fd& link) {
    std::array<char, PATH_MAX> target{};
    if (links_ == SymbolicLinks::refused || ++followed_ > max_links) {
      errno = ELOOP;
      return false;
    }
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (size < 0) return false;
    const std::string_view text(target.data(), static_cast<std::size_t>(size));
    if (text.starts_with('/')) way_.clear();
    prepend(text);
    return true;
  }

  const Fd& root_;
  pid_t pid_;
  SymbolicLinks links_;
  std::deque<std::string> names_;
  std::vector<Fd> way_;  ///< below the root
  struct statx status_{};
  unsigned followed_ = 0;
};

}  // namespace

Fd open_regular(const std::string& path) {
  return opened(Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)));
}

Fd open_regular_in(const Fd& root, pid_t pid, const std::string& path, SymbolicLinks links) {
  return opened(Walk(root, pid, links).to(path));
}

Fd open_root_of(pid_t pid) {
  return Fd(::open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace overdue
