#include "trace/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace overdue {
namespace {

constexpr std::size_t copy_size = 256U << 10;

// Reads until `out` is full or the input ends.
std::size_t read_fully(int fd, std::span<std::byte> out, std::string_view name) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::read(fd, out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("cannot read {}: {}", name, errno_text(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Fd temporary_file(std::string_view name) {
  const char* set = std::getenv("TMPDIR");
  const std::string directory = set && *set ? set : "/tmp";
  Fd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file)
    throw Error("cannot read {}: it cannot be copied to {}: {}", name, directory, errno_text(errno))
        .hint("save it to a file first, or set TMPDIR to a directory with space");
  return file;
}

void write_fully(int fd, std::span<const std::byte> bytes, std::string_view name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw Error("cannot read {}: no temporary copy: {}", name, errno_text(errno))
          .hint("save it to a file first, or set TMPDIR to a directory with space");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

bool is_regular(int fd, std::string_view name) {
  struct stat status{};
  check_errno(::fstat(fd, &status), "cannot read {}", name);
  return S_ISREG(status.st_mode);
}

// The magic is checked first: an endless input that is no recording (/dev/zero) must not fill the
// disk.
Fd copy_stream(const Fd& from, std::string_view name, std::string_view magic) {
  std::string taken;
  if (begins_with(from, name, magic, taken)) return copy_of_stream(from, name, taken);
  Fd copy = temporary_file(name);
  write_fully(copy.get(), std::as_bytes(std::span(taken)), name);
  return copy;
}

}  // namespace

bool begins_with(const Fd& file, std::string_view name, std::string_view magic,
                 std::string& taken) {
  taken.resize(magic.size());
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(taken));
  if (!is_regular(file.get(), name)) {
    taken.resize(read_fully(file.get(), bytes, name));
    return taken == magic;
  }
  const ssize_t length = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  const bool result = length == static_cast<ssize_t>(magic.size()) && taken == magic;
  taken.clear();
  return result;
}

Fd copy_of_stream(const Fd& from, std::string_view name, std::string_view taken) {
  Fd copy = temporary_file(name);
  write_fully(copy.get(), std::as_bytes(std::span(taken)), name);
  std::vector<std::byte> buffer(copy_size);
  while (const std::size_t n = read_fully(from.get(), buffer, name))
    write_fully(copy.get(), std::span(buffer).first(n), name);
  return copy;
}

ByteSource::ByteSource(Fd file, std::string_view name, std::string_view magic)
    : file_(std::move(file)), name_(name) {
  struct stat status{};
  check_errno(::fstat(file_.get(), &status), "cannot read {}", name_);
  if (S_ISDIR(status.st_mode)) throw Error("cannot read {}: it is a directory", name_);
  if (!S_ISREG(status.st_mode)) {
    file_ = copy_stream(file_, name_, magic);
    check_errno(::fstat(file_.get(), &status), "cannot read {}", name_);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t ByteSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  if (!file_) {
    if (wanted > 0) std::memcpy(out.data(), memory_.data() + offset, wanted);
    return wanted;
  }
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t n =
        ::pread(file_.get(), out.data() + done, wanted - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw Error("cannot read {} at byte {}: {}", name_, offset + done, errno_text(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace overdue
