#include "symbols/process_maps.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "base/thread_rights.h"
#include "symbols/open_file.h"
#include "symbols/served_devices.h"

namespace overdue {
namespace {

constexpr std::size_t max_mappings = 1u << 20;
constexpr std::size_t max_text_bytes = 256u << 20;
constexpr std::string_view deleted_mark = " (deleted)";

/// Takes a number, and the `separator` after it, from the front of `text`.
template <typename T>
bool take(std::string_view& text, T& value, int base, char separator) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || used >= text.size() || text[used] != separator) return false;
  text.remove_prefix(used + 1);
  return true;
}

/// The kernel writes a line feed in a path as `\012`, and a backslash as it is. A path that really
/// contains `\012` is therefore misread, and open_mapped_file() does not find the file.
std::string unescaped(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const bool is_line_feed = path.starts_with("\\012");
    text += is_line_feed ? '\n' : path[0];
    path.remove_prefix(is_line_feed ? 4 : 1);
  }
  return text;
}

/// Whether `file` is the mapped one.
enum class IsMapped {
  yes,
  no,
  unknown,  ///< the file system has a number for the file that differs from that of its mappings
};

IsMapped is_mapped(const Fd& file, const Mapping& mapping) {
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return IsMapped::no;
  const bool same_inode = status.st_ino == mapping.inode;
  if (same_inode && status.st_dev == makedev(mapping.device_major, mapping.device_minor))
    return IsMapped::yes;
  struct statfs system{};
  if (fstatfs(file.get(), &system) != 0) return IsMapped::no;
  const bool numbers_differ =
      system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == BTRFS_SUPER_MAGIC;
  if (!numbers_differ) return IsMapped::no;
  return same_inode ? IsMapped::yes : IsMapped::unknown;
}

/// Whether the process has the mapping now.
bool has_mapping(pid_t pid, const Mapping& mapping) {
  const auto maps = ProcessMaps::read(pid);
  const Mapping* now = maps ? maps->find(mapping.start) : nullptr;
  return now && now->start == mapping.start && now->end == mapping.end &&
         now->inode == mapping.inode && now->device_major == mapping.device_major &&
         now->device_minor == mapping.device_minor;
}

/// Opens the file at the address of the mapping. Another file may be there by now.
Fd open_by_address(pid_t pid, const Mapping& mapping, const std::string& link) {
  Fd file = open_regular(link);
  IsMapped found = is_mapped(file, mapping);
  // A file of an overlay that was copied up: its mappings have the number of the copy.
  if (found == IsMapped::unknown && has_mapping(pid, mapping)) {
    file = open_regular(link);
    found = is_mapped(file, mapping);
    if (found == IsMapped::unknown && has_mapping(pid, mapping)) return file;
  }
  return found == IsMapped::yes ? std::move(file) : Fd();
}

}  // namespace

bool ProcessMaps::add_line(std::string_view line) {
  Mapping mapping;
  if (!take(line, mapping.start, 16, '-') || !take(line, mapping.end, 16, ' ')) return false;
  if (line.size() < 5 || line[4] != ' ' || mapping.start >= mapping.end) return false;
  mapping.is_executable = line[2] == 'x';
  line.remove_prefix(5);
  if (!take(line, mapping.file_offset, 16, ' ') || !take(line, mapping.device_major, 16, ':') ||
      !take(line, mapping.device_minor, 16, ' '))
    return false;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), mapping.inode);
  if (error != std::errc{}) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.is_deleted = line.ends_with(deleted_mark);
  if (mapping.is_deleted) line.remove_suffix(deleted_mark.size());
  const std::string path = unescaped(line);
  mapping.path = path;
  add(mapping);
  return true;
}

ProcessMaps ProcessMaps::parse(std::string_view text) {
  ProcessMaps maps;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0 && !maps.add_line(text.substr(0, end))) ++maps.malformed_;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return maps;
}

std::optional<ProcessMaps> ProcessMaps::read(pid_t pid) {
  const Fd file(::open(fmt::format("/proc/{}/maps", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  constexpr std::size_t step = 64u << 10;
  bool is_cut = false;
  while (true) {
    const std::size_t have = text.size();
    text.resize(have + step);
    const ssize_t got = ::read(file.get(), text.data() + have, step);
    text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    is_cut = text.size() > max_text_bytes;
    if (got == 0 || is_cut) break;
  }
  ProcessMaps maps = parse(text);
  maps.is_cut_ |= is_cut;
  return maps;
}

void ProcessMaps::add(Mapping mapping) {
  const auto first = std::ranges::lower_bound(mappings_, mapping.start + 1, {}, &Mapping::end);
  auto last = first;
  while (last != mappings_.end() && last->start < mapping.end) ++last;
  if (first == last && mappings_.size() >= max_mappings) {
    is_cut_ = true;
    return;
  }
  mapping.path = kept(mapping.path);
  const auto at = mappings_.erase(first, last);
  mappings_.insert(at, mapping);
}

// The mappings of one file follow each other.
std::string_view ProcessMaps::kept(std::string_view path) {
  if (path.empty()) return {};
  if (paths_.empty() || paths_.back() != path) paths_.emplace_back(path);
  return paths_.back();
}

const Mapping* ProcessMaps::find(std::uint64_t address) const {
  const auto found = std::ranges::upper_bound(mappings_, address, {}, &Mapping::end);
  return found != mappings_.end() && found->start <= address ? &*found : nullptr;
}

Fd open_mapped_file(pid_t pid, const Mapping& mapping) {
  if (!mapping.is_file()) return {};
  const ReadRights rights;
  const dev_t device = makedev(mapping.device_major, mapping.device_minor);
  const std::string by_address =
      fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end);
  const Fd named(::open(by_address.c_str(), O_PATH | O_CLOEXEC));
  if (served_devices().is_served(device, pid, named)) return {};
  Fd file = open_by_address(pid, mapping, by_address);
  if (file) return file;
  std::vector<std::string> paths = {std::string(mapping.path)};
  if (mapping.is_deleted) paths.push_back(paths[0] + std::string(deleted_mark));
  Fd root = open_root_of(pid);
  if (!root) root = open_root_of(getpid());
  for (const std::string& path : paths) {
    if (!path.starts_with('/')) continue;
    file = open_regular_in(root, pid, path, SymbolicLinks::followed);
    if (is_mapped(file, mapping) == IsMapped::yes) return file;
  }
  return {};
}

}  // namespace overdue
