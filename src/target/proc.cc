#include "target/proc.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fmt/format.h>

#include "base/fd.h"
#include "base/read_text.h"
#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t status_limit = 64 * 1024;
constexpr std::size_t command_line_limit = 4 * 1024 * 1024;
constexpr std::uint32_t largest_pid_max = 1 << 22;        // PID_MAX_LIMIT of 64-bit kernels
constexpr std::uint32_t kernel_thread_flag = 0x00200000;  // PF_KTHREAD

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

/// Calls `visit(name, type)` for each entry but `.` and `..` until it returns false.
template <typename Visit>
void for_each_entry(const std::filesystem::path& path, Visit visit) {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (!directory) return;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!visit(name, entry->d_type, dirfd(directory.get()))) return;
  }
}

/// Field `index` of /proc/PID/stat, counted as in proc(5): 3 is the state. These fields follow the
/// name, which may contain any character.
std::string_view stat_field(std::string_view stat, std::size_t index) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  const std::vector<std::string_view> fields = split(stat.substr(name_end + 1), ' ');
  return index - 3 < fields.size() ? fields[index - 3] : std::string_view{};
}

}  // namespace

std::vector<std::string> subdirectories(const std::filesystem::path& directory, std::size_t limit) {
  std::vector<std::string> names;
  for_each_entry(directory, [&](std::string_view name, unsigned char type, int fd) {
    if (names.size() >= limit) return false;
    struct stat facts{};
    const bool is_directory = type == DT_DIR || (type == DT_UNKNOWN &&
                                                 fstatat(fd, std::string(name).c_str(), &facts,
                                                         AT_SYMLINK_NOFOLLOW) == 0 &&
                                                 S_ISDIR(facts.st_mode));
    if (is_directory) names.emplace_back(name);
    return true;
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::uint32_t> parse_u32(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> first_number(std::string_view text) {
  constexpr std::string_view space = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(space), text.size()));
  text = text.substr(0, text.find_first_of(space));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view title) {
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(title)) return first_number(line.substr(title.size()));
  return std::nullopt;
}

std::optional<ThreadStatus> Proc::thread(std::uint32_t tid) const {
  const std::filesystem::path directory = root_ / std::to_string(tid);
  const auto status = read_text(directory / "status", status_limit);
  const auto stat = read_text(directory / "stat", status_limit);
  if (!status || !stat) return std::nullopt;
  ThreadStatus thread;
  thread.tid = tid;
  thread.pid = tid;
  // `status` escapes newlines in the name, so a name cannot imitate another line.
  for (const std::string_view line : split(*status, '\n')) {
    const auto value = [&](std::string_view key) -> std::optional<std::uint32_t> {
      if (!line.starts_with(key)) return std::nullopt;
      return parse_u32(line.substr(key.size()));
    };
    if (const auto tgid = value("Tgid:\t")) thread.pid = *tgid;
    if (const auto parent = value("PPid:\t")) thread.parent_pid = *parent;
    if (line.starts_with("State:\t") && line.size() > 7) thread.state = line[7];
  }
  thread.kernel_thread = (parse_u32(stat_field(*stat, 9)).value_or(0) & kernel_thread_flag) != 0;
  thread.comm = read_text(directory / "comm", status_limit).value_or("");
  if (thread.comm.ends_with('\n')) thread.comm.pop_back();
  return thread;
}

std::vector<std::uint32_t> Proc::numbers_in(const std::filesystem::path& directory) const {
  std::vector<std::uint32_t> numbers;
  for_each_entry(directory, [&](std::string_view name, unsigned char, int) {
    if (const auto number = parse_u32(name)) numbers.push_back(*number);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<std::uint32_t> Proc::processes() const {
  return numbers_in(root_);
}

std::vector<std::uint32_t> Proc::threads_of(std::uint32_t pid) const {
  return numbers_in(root_ / std::to_string(pid) / "task");
}

std::string Proc::program_name(std::uint32_t pid) const {
  const auto line = read_text(root_ / std::to_string(pid) / "cmdline", command_line_limit);
  if (!line) return {};
  const std::string_view program = std::string_view(*line).substr(0, line->find('\0'));
  return std::string(program.substr(program.rfind('/') + 1));  // npos + 1 is 0
}

std::uint32_t Proc::pid_max() const {
  const auto text = read_text(root_ / "sys/kernel/pid_max", 64);
  if (!text) return largest_pid_max;
  return parse_u32(std::string_view(*text).substr(0, text->find('\n'))).value_or(largest_pid_max);
}

}  // namespace overdue
