#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "report/why/remarks.h"

namespace overdue {

/// The processes that write to files: the kernel's workers write their data to a disk later. Used
/// by one thread.
class DiskWriters {
 public:
  static constexpr std::size_t processes_max = 5'000;
  static constexpr std::size_t named_max = 3;    ///< those that wrote most
  static constexpr unsigned least_percent = 20;  ///< of what all processes wrote

  /// What the processes write counts from now on.
  explicit DiskWriters(std::filesystem::path proc = "/proc");

  /// "hog[12] (1.2 GB)": by pid, largest first. None if there are too many processes.
  std::vector<Remark> since_begin() const;

 private:
  /// Bytes of each process with its threads, and with its children that have ended.
  std::map<std::uint32_t, std::uint64_t> bytes() const;

  std::filesystem::path proc_;
  std::map<std::uint32_t, std::uint64_t> begin_;
};

}  // namespace overdue
