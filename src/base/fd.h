#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace overdue {

/// Owns a file descriptor; closes it once. Movable, not copyable. -1 means none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Another descriptor of the same open file; none on failure.
  Fd duplicate() const { return Fd(fd_ < 0 ? -1 : fcntl(fd_, F_DUPFD_CLOEXEC, 0)); }
  int release() { return std::exchange(fd_, -1); }
  /// Closes the descriptor. Returns 0 if all written bytes have arrived, as far as the file system
  /// knows by now, else an errno value. Quotas and network file systems may refuse only here.
  int close() {
    if (fd_ < 0) return 0;
    const int result = ::close(release());
    return result == 0 || errno == EINTR ? 0 : errno;  // closed in either case
  }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace overdue
