#include "target/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <deque>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "target/file_rights.h"
#include "target/identity.h"

namespace overdue {
namespace {

constexpr int max_links = 40;  // the kernel's own limit

struct Place {
  Fd directory;
  std::string name;  // file name in `directory`; never a link
};

// The user whose rights open a file now: FileRights sets it.
uid_t opener() {
  return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1)));
}

Error cannot_write(const std::string& path, std::string_view why) {
  return Error("cannot write to {}: {}", printable(path), why);
}

[[noreturn]] void fail(const std::string& path, int code) {
  if (code == EACCES || code == EPERM)
    throw cannot_write(
        path, opener() == ::geteuid()
                  ? "permission denied"
                  : fmt::format("permission denied to user {}, who called overdue", opener()))
        .hint("choose another place with -o");
  if (code == EISDIR) throw cannot_write(path, "it is a directory").hint("name a file in it");
  throw cannot_write(path, errno_text(code));
}

struct stat status_of(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail(path, errno);
  return status;
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The descriptor that a name such as /dev/stdout stands for. Opening the name would create a second
// file position, and fails for sockets.
std::optional<int> named_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(prefix))
      if (const auto fd = number(path.substr(prefix.size()))) return static_cast<int>(*fd);
  return std::nullopt;
}

std::string read_link(int directory, const std::string& name, const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t n = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (n < 0) fail(path, errno);
  return {target.data(), static_cast<std::size_t>(n)};
}

Fd open_directory(int from, const std::string& name, const std::string& path) {
  Fd directory(::openat(from, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory) return directory;
  const int code = errno;
  if (code == ENOENT)
    throw cannot_write(path, fmt::format("there is no directory {}", printable(name)))
        .hint("create it first, with mkdir -p");
  if (code == ENOTDIR)
    throw cannot_write(path, fmt::format("{} is not a directory", printable(name)));
  fail(path, code);
}

bool is_link(int directory, const std::string& name) {
  struct stat status{};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

// Whether another user may have put a link into the directory, to choose the file that Overdue
// overwrites.
bool open_to_others(const struct stat& directory) {
  if ((directory.st_mode & S_IWOTH) != 0) return true;
  return directory.st_uid != 0 && directory.st_uid != opener();
}

// Walks `path` name by name and follows links itself, because the directory of a link decides
// whether the link may be followed.
Place resolve(const std::string& path) {
  std::deque<std::string> names;
  const auto prepend = [&names](std::string_view text) {
    const auto parts = split(text, '/');
    names.insert(names.begin(), parts.begin(), parts.end());
    if (text.ends_with('/'))
      names.insert(names.begin() + static_cast<std::ptrdiff_t>(parts.size()), ".");
  };
  prepend(path);
  Fd directory = open_directory(AT_FDCWD, path.starts_with('/') ? "/" : ".", path);
  int links = 0;
  while (!names.empty()) {
    const std::string name = names.front();
    names.pop_front();
    if (is_link(directory.get(), name)) {
      if (open_to_others(status_of(directory.get(), path)))
        throw cannot_write(
            path, fmt::format("{} is a symbolic link in a directory that others can write to",
                              printable(name)))
            .hint("remove the link, or choose another place with -o");
      if (++links > max_links) fail(path, ELOOP);
      const std::string target = read_link(directory.get(), name, path);
      if (target.starts_with('/')) directory = open_directory(AT_FDCWD, "/", path);
      prepend(target);
      continue;
    }
    if (names.empty()) return {std::move(directory), name};
    directory = open_directory(directory.get(), name, path);
  }
  return {std::move(directory), "."};
}

Fd create(const Place& place) {
  return Fd(::openat(place.directory.get(), place.name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600));
}

void refuse_planted(const Place& place, const struct stat& file, const std::string& path) {
  if (!open_to_others(status_of(place.directory.get(), path))) return;
  const bool ours = file.st_uid == opener();
  const bool second_name = S_ISREG(file.st_mode) && file.st_nlink > 1;
  if (ours && !second_name) return;
  throw cannot_write(
      path, second_name ? "the file has a second name, in a directory that all users can write to"
                        : "it belongs to another user, in a directory that all users can write to")
      .hint("remove it, or choose another place with -o");
}

Fd reopen(const Place& place, const std::string& path) {
  struct stat there{};
  if (::fstatat(place.directory.get(), place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
    fail(path, errno);
  if (S_ISDIR(there.st_mode)) fail(path, EISDIR);
  refuse_planted(place, there, path);
  Fd file;
  do {
    file = Fd(::openat(place.directory.get(), place.name.c_str(),
                       O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
  } while (!file && errno == EINTR);  // a fifo waits for its reader
  if (!file) fail(path, errno);
  const struct stat opened = status_of(file.get(), path);
  refuse_planted(place, opened, path);
  if (S_ISREG(opened.st_mode) && ::ftruncate(file.get(), 0) != 0) fail(path, errno);
  return file;
}

Place place_of_file(const std::string& path) {
  Place place = resolve(path);
  if (place.name == "." || place.name == "..") fail(path, EISDIR);
  return place;
}

Fd open_or_create(const std::string& path) {
  const Place place = place_of_file(path);
  Fd file = create(place);
  if (file) return file;
  if (errno != EEXIST) fail(path, errno);
  return reopen(place, path);
}

}  // namespace

Fd create_output_file(const std::string& path) {
  if (path.empty())
    throw Error("cannot write: the name of the output file is empty").exit_status(2);
  if (path.find('\0') != std::string::npos) throw cannot_write(path, "a name cannot contain NUL");
  if (const auto descriptor = named_descriptor(path)) {
    // The caller's descriptors have survived an exec, so none of them is close-on-exec; all of
    // Overdue's own are.
    const int flags = ::fcntl(*descriptor, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) != 0) fail(path, EBADF);
    Fd copy(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 3));
    if (!copy) fail(path, errno);
    return copy;
  }
  const auto user = choose_identity(IdentityRequest::current(std::nullopt));
  const FileRights rights(user);
  return open_or_create(path);
}

Fd create_new_output_file(const std::string& path) {
  const FileRights rights(choose_identity(IdentityRequest::current(std::nullopt)));
  Fd file = create(place_of_file(path));
  if (!file) fail(path, errno);
  return file;
}

}  // namespace overdue
