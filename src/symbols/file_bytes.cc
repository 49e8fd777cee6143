#include "symbols/file_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace overdue {

FileBytes::FileBytes(Fd file) : file_(std::move(file)) {
  struct stat status{};
  if (file_ && fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    size_ = static_cast<std::uint64_t>(status.st_size);
}

bool FileBytes::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (!has(offset, out.size())) return false;
  if (!file_) {
    std::ranges::copy(memory_.subspan(offset, out.size()), out.begin());
    return true;
  }
  while (!out.empty()) {
    const ssize_t got = pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

std::optional<std::vector<std::byte>> FileBytes::read(std::uint64_t offset, std::uint64_t size,
                                                      std::uint64_t limit) const {
  if (size > limit || !has(offset, size)) return std::nullopt;
  std::vector<std::byte> bytes(size);
  if (!read(offset, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace overdue
