#include "kernel/tracing_settings.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

/// About the time that the guardian of a killed process needs.
constexpr std::chrono::milliseconds settings_patience{4000}, between_tries{50};
/// This file lists a word for each of its options; a write sets one option.
constexpr std::string_view words_file = "options";

bool is_value(std::string_view text) {
  return text.size() < 4096 && std::all_of(
                                   text.begin(), text.end(),
                                   [](char c) {
                                     return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                            (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
                                            c == ',' || c == ' ';
                                   });
}

/// The texts to write, one by one, to restore `value`.
std::vector<std::string> writes_for(std::string_view name, std::string_view value) {
  if (name != words_file) return {std::string(value)};
  std::vector<std::string> words;
  for (const std::string_view word : split(value, ' '))
    if (!word.ends_with("DEFAULTS")) words.emplace_back(word);  // would change all others
  return words;
}

void make_folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (mkdir(folder.c_str(), 0711) != 0 && errno != EEXIST)
    throw Error("cannot make {}: {}", printable(folder.string()), errno_text(errno));
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      (status.st_uid != 0 && status.st_uid != geteuid()) || status.st_mode & (S_IWGRP | S_IWOTH))
    throw Error("others than root may write to {}", printable(folder.string()));
}

}  // namespace

TracingSettings::TracingSettings(const fs::path& folder, fs::path keeper,
                                 std::span<const std::string_view> names,
                                 std::span<const std::string_view> left_over)
    : path_(folder), keeper_path_(std::move(keeper)) {
  folder_ = Fd(check_errno(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "cannot open {}",
                           printable(folder.string())));
  make_folder_of(keeper_path_);
  lock();
  restore_left_over(left_over.empty() ? names : left_over);
  for (const std::string_view name : names) {
    if (!fs::exists(path_ / name)) continue;
    const std::string value = read_word(path_ / name);
    if (!is_value(value)) unlink(keeper_path_.c_str());
    if (!is_value(value))
      throw Error("cannot keep what {} says: '{}'", printable((path_ / name).string()),
                  printable(value));
    for (std::string& each : writes_for(name, value))
      former_.emplace_back(std::string(name), each + "\n");
  }
  check_errno(ftruncate(keeper_.get(), 0), "cannot write {}", printable(keeper_path_.string()));
}

TracingSettings::~TracingSettings() {
  restore();
}

void TracingSettings::lock() {
  const auto end = std::chrono::steady_clock::now() + settings_patience;
  while (true) {
    keeper_ =
        Fd(check_errno(open(keeper_path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600),
                       "cannot open {}", printable(keeper_path_.string())));
    struct stat status{};
    if (flock(keeper_.get(), LOCK_EX | LOCK_NB) == 0) {
      // If the former owner removed the file in the meantime, another process may make a new file.
      if (fstat(keeper_.get(), &status) == 0 && status.st_nlink > 0) return;
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw Error("cannot lock {}: {}", printable(keeper_path_.string()), errno_text(errno));
    if (std::chrono::steady_clock::now() > end)
      throw Error("another overdue has the settings of {}", printable(path_.string()))
          .hint("there is one set of them for the whole machine: wait for its end");
    std::this_thread::sleep_for(between_tries);
  }
}

void TracingSettings::restore_left_over(std::span<const std::string_view> names) {
  const std::string text = read_text(keeper_path_, 1u << 20, Links::refuse).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (!known || !is_value(value)) continue;
    write_all({{std::string(name), std::string(value) + "\n"}});
    found_left_over_ = true;
  }
}

void TracingSettings::keep() const {
  std::string text;
  for (const auto& [name, value] : former_) text.append(name).append("=").append(value);
  if (pwrite(keeper_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw Error("cannot write {}: {}", printable(keeper_path_.string()), errno_text(errno));
}

void TracingSettings::write_all(const Values& values) const {
  for (const auto& [name, value] : values) {
    const int fd = openat(folder_.get(), name.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0) continue;
    if (::write(fd, value.data(), value.size()) < 0) errno = 0;  // nowhere to report it
    ::close(fd);
  }
}

void TracingSettings::restore() const {
  struct stat status{};
  // If the guardian restored the settings first, another process may own them already.
  if (fstat(keeper_.get(), &status) != 0 || status.st_nlink == 0) return;
  // An empty file: no setting was changed, and other users of the settings must not be disturbed.
  if (status.st_size > 0) write_all(former_);
  unlink(keeper_path_.c_str());
}

bool TracingSettings::has(std::string_view name) const {
  return fs::exists(path_ / name);
}

std::string TracingSettings::former(std::string_view name) const {
  std::string value;
  for (const auto& [file, text] : former_) {
    if (file != name) continue;
    if (!value.empty()) value += ' ';
    value += text.substr(0, text.size() - 1);
  }
  return value;
}

void TracingSettings::set(std::string_view name, std::string_view value) const {
  // The kernel reads up to a newline. Without one, some versions read beyond the text.
  const std::string text = std::string(value) + "\n";
  struct stat status{};
  if (fstat(keeper_.get(), &status) == 0 && status.st_size == 0) keep();
  const Fd fd(openat(folder_.get(), std::string(name).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error("the kernel refuses '{}' for {}: {}", printable(value),
                printable((path_ / name).string()), errno_text(errno))
        .hint("overdue doctor says what this kernel allows");
}

}  // namespace overdue
