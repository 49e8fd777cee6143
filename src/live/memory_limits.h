#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "report/why/remarks.h"
#include "target/cgroups.h"

namespace overdue {

/// The cgroups that reach their limit of memory in a session, by the counters that the kernel keeps
/// of this. Used by one thread.
class MemoryLimits {
 public:
  static constexpr std::size_t cgroups_max = 2'000;

  /// Reads the counters of all cgroups, or of the first `cgroups_max`. `proc`: with the mounts and
  /// the processes.
  explicit MemoryLimits(std::filesystem::path proc = "/proc");

  /// For each of these processes, the cgroup that has reached its limit since the object was
  /// constructed: its own, or the nearest above. A process without one, or whose cgroup's counter
  /// was not read, is left out.
  std::vector<Remark> reached_by(const std::set<std::uint32_t>& pids) const;

 private:
  /// One limit of a cgroup, by its files.
  struct Limit {
    std::string_view file, usage, counter;
    std::string_view line;  ///< begin of the counter's line; empty: the file has the number alone
    bool v2;
  };
  static const Limit limits[];
  static std::uint64_t count_of(const CgroupTarget& cgroup, const Limit& limit);

  std::string words_of(const CgroupTarget& cgroup) const;

  std::filesystem::path proc_;
  Cgroups cgroups_;
  bool has_all_ = true;
  /// Those that are not 0, by hierarchy, cgroup and file of the limit.
  std::map<std::tuple<int, std::uint64_t, std::string_view>, std::uint64_t> counters_;
};

}  // namespace overdue
