#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace overdue {

/// Owns one mmap'ed region. Movable; unmapped by the destructor.
class Mapped {
 public:
  Mapped() = default;
  /// Throws Error naming `what` if the kernel refuses.
  Mapped(int fd, std::size_t bytes, int protection, std::size_t offset, std::string_view what)
      : bytes_(bytes) {
    address_ = mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (address_ == MAP_FAILED) {
      const int code = errno;
      address_ = nullptr;
      throw Error("cannot map {}: {}", what, errno_text(code));
    }
  }
  Mapped(Mapped&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapped& operator=(Mapped&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapped() {
    if (address_) munmap(address_, bytes_);
  }

  template <typename T>
  T* as(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(address_) + offset);
  }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace overdue
