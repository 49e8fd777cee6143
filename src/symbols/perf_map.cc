#include "symbols/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "symbols/open_file.h"
#include "symbols/process_status.h"

namespace overdue {
namespace {

constexpr std::size_t max_bytes = 64u << 20;
constexpr std::size_t max_entries = 4u << 20;

/// Takes a hexadecimal number and the blanks after it from the front of `line`.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty() || (line[0] != ' ' && line[0] != '\t')) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return value;
}

/// Why a file may not name the code of a process of user `owner`; empty if it may.
std::string refusal_of(const Fd& file, uid_t owner) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "not a regular file";
  if (status.st_uid != owner && status.st_uid != 0)
    return fmt::format("belongs to user {}, not to the process's user {} or root", status.st_uid,
                       owner);
  return {};
}

}  // namespace

PerfMap PerfMap::parse(std::string_view text) {
  PerfMap map;
  SymbolTableBuilder builder(SymbolTableBuilder::Overlap::later, max_entries, max_bytes);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto begin = take_number(line);
    const auto size = begin ? take_number(line) : std::nullopt;
    if (!size || *size == 0 || line.empty() || line[0] == '\0' || *begin > ~*size) {
      ++map.malformed_;
      continue;
    }
    builder.add({.begin = *begin, .size = *size, .name = line});
  }
  map.is_cut_ = builder.dropped() > 0;
  map.table_ = std::move(builder).build();
  return map;
}

PerfMap::File PerfMap::open(pid_t pid) {
  const ReadRights rights;
  const auto status = read_process_status(pid);
  const Fd root = open_root_of(pid);
  File file;
  if (!status || !root) return file;
  file.owner = status->uid;
  for (const pid_t name : status->pids) {
    const std::string path = fmt::format("/tmp/perf-{}.map", name);
    file.fd = open_regular_in(root, pid, path, SymbolicLinks::refused);
    if (file.fd) {
      file.refused = refusal_of(file.fd, file.owner);
      if (!file.refused.empty()) file.fd.reset();
      return file;
    }
    if (errno == ENOENT) continue;
    file.refused = fmt::format("{}: {}", path,
                               errno == ELOOP    ? "a symbolic link"
                               : errno == EINVAL ? "not a regular file"
                                                 : errno_text(errno));
    return file;
  }
  return file;
}

PerfMap PerfMap::read(pid_t pid) {
  const File file = open(pid);
  if (file.fd) return read(file.fd, file.owner);
  PerfMap map;
  map.refused_ = file.refused;
  return map;
}

PerfMap PerfMap::read(const Fd& file, uid_t owner) {
  PerfMap refused;
  refused.refused_ = refusal_of(file, owner);
  if (!refused.refused_.empty()) return refused;
  struct stat status{};
  fstat(file.get(), &status);
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  const std::uint64_t skipped = size > max_bytes ? size - max_bytes : 0;
  std::string text(std::min<std::uint64_t>(size, max_bytes), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = pread(file.get(), text.data() + have, text.size() - have,
                              static_cast<off_t>(skipped + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  std::string_view rest = text;
  if (skipped > 0) rest.remove_prefix(std::min(rest.find('\n'), rest.size()));  // half a line
  PerfMap map = parse(rest);
  map.is_cut_ |= skipped > 0;
  return map;
}

}  // namespace overdue
