#include "symbols/open_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace overdue {
namespace {

// O_PATH names a file without opening it; when we know what it is, that very file is opened.
Fd opened(const Fd& named) {
  struct stat status{};
  if (!named || fstat(named.get(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return {};
  }
  const std::string path = fmt::format("/proc/self/fd/{}", named.get());
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

}  // namespace

Fd open_regular(const std::string& path) {
  return opened(Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)));
}

Fd open_regular_in(const Fd& root, const std::string& path, SymbolicLinks links) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  if (links == SymbolicLinks::refused) how.resolve |= RESOLVE_NO_SYMLINKS;
  return opened(
      Fd(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how))));
}

Fd open_root_of(pid_t pid) {
  return Fd(::open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace overdue
