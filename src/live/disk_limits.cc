#include "live/disk_limits.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "target/cgroups.h"
#include "target/proc.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t asked_max = 100, lines_max = 64;

/// A limit by its file, and by its word within the line of a disk.
struct Limit {
  std::string_view file;
  std::string_view word;  ///< "wbps="; empty: the line has the number alone
  std::string_view unit;
  bool is_bytes;
};

constexpr std::array io_limits = {
    Limit{"io.max", "rbps=", "reads", true},
    Limit{"io.max", "wbps=", "writes", true},
    Limit{"io.max", "riops=", "reads", false},
    Limit{"io.max", "wiops=", "writes", false},
    Limit{"blkio.throttle.read_bps_device", "", "reads", true},
    Limit{"blkio.throttle.write_bps_device", "", "writes", true},
    Limit{"blkio.throttle.read_iops_device", "", "reads", false},
    Limit{"blkio.throttle.write_iops_device", "", "writes", false},
};

/// "1.0 MB/s of writes"; empty: the line, "254:0 1048576" or "254:0 wbps=1048576", has no limit.
std::string rate_in(std::string_view line, const Limit& limit) {
  for (std::string_view word : split(line.substr(line.find(' ') + 1), ' ')) {
    if (!word.starts_with(limit.word)) continue;
    word.remove_prefix(limit.word.size());
    const std::optional<std::uint64_t> rate = first_number(word);
    if (!rate || word.starts_with("max")) continue;
    return limit.is_bytes ? fmt::format("{}/s of {}", bytes_text(*rate), limit.unit)
                          : fmt::format("{} {} a second", grouped(*rate), limit.unit);
  }
  return {};
}

/// The limits of one cgroup, by the number of the disk: "254:0".
std::map<std::string, std::string> limits_of(const CgroupTarget& cgroup) {
  std::map<std::string, std::vector<std::string>> said;
  for (const Limit& limit : io_limits) {
    const std::string text = read_text(cgroup.directory / limit.file).value_or("");
    std::size_t lines = 0;
    for (const std::string_view line : split(text, '\n')) {
      if (++lines > lines_max || line.find(' ') == line.npos) break;
      const std::string rate = rate_in(line, limit);
      if (rate.empty()) continue;
      said[std::string(line.substr(0, line.find(' ')))].push_back(
          fmt::format("{} ({})", rate, limit.file));
    }
  }
  std::map<std::string, std::string> words;
  for (const auto& [number, rates] : said)
    words[number] = fmt::format("the limit of cgroup {}, {}", printable(cgroup.path),
                                fmt::join(rates, " and "));
  return words;
}

/// "vda"; empty: no such disk.
std::string disk_called(const fs::path& root, const std::string& number) {
  if (number.find_first_not_of("0123456789:") != number.npos) return {};
  std::error_code error;
  return fs::read_symlink(root / "sys/dev/block" / number, error).filename().string();
}

}  // namespace

std::vector<Remark> disk_limits(const std::set<std::uint32_t>& pids, const fs::path& root) {
  std::vector<Remark> found;
  if (pids.empty()) return found;
  const ReadRights rights;
  const Cgroups cgroups(root / "proc");
  std::size_t asked = 0;
  for (const std::uint32_t pid : pids) {
    if (asked++ == asked_max) break;
    const std::string text = read_text(root / "proc" / std::to_string(pid) / "cgroup").value_or("");
    const auto memberships = parse_memberships(text);
    std::map<std::string, std::string> nearest;
    for (const std::string_view controller : {"io", "blkio"})
      for (const CgroupTarget& cgroup : cgroups.lineage(memberships, controller))
        nearest.merge(limits_of(cgroup));
    for (const auto& [number, words] : nearest)
      if (const std::string disk = disk_called(root, number); !disk.empty())
        found.push_back({.id = pid, .words = fmt::format("{}: {}", printable(disk), words)});
  }
  return found;
}

}  // namespace overdue
