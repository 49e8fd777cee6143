#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace overdue {

/// One line of /proc/PID/maps.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;  ///< 0: no file
  bool is_executable = false;
  bool is_deleted = false;  ///< the file has no name any more, or " (deleted)" is part of its name
  /// The path in the process's mount namespace, without " (deleted)"; "[vdso]", "[heap]", …; or
  /// empty. Hostile text. Valid as long as the ProcessMaps that holds the mapping.
  std::string_view path;

  bool is_file() const { return inode != 0; }
};

/// The address space of a process at one moment. Of more than a million mappings, only the first
/// million.
class ProcessMaps {
 public:
  ProcessMaps() = default;
  ProcessMaps(ProcessMaps&&) noexcept = default;
  ProcessMaps& operator=(ProcessMaps&&) noexcept = default;

  /// Counts malformed lines.
  static ProcessMaps parse(std::string_view text);
  /// Nothing if there is no such process, or Overdue may not read its maps.
  static std::optional<ProcessMaps> read(pid_t pid);
  /// Adds a mapping, also from elsewhere than /proc. Copies the path. Removes the mappings that it
  /// overlaps.
  void add(Mapping mapping);

  const Mapping* find(std::uint64_t address) const;
  /// Ascending by address.
  std::span<const Mapping> all() const { return mappings_; }
  std::size_t malformed_lines() const { return malformed_; }
  bool is_cut() const { return is_cut_; }

 private:
  bool add_line(std::string_view line);
  std::string_view kept(std::string_view path);

  std::vector<Mapping> mappings_;
  std::deque<std::string> paths_;  // a deque: views stay valid when it grows or is moved
  std::size_t malformed_ = 0;
  bool is_cut_ = false;
};

/// Opens the file behind a mapping for reading: through /proc/PID/map_files (deleted files too;
/// needs CAP_CHECKPOINT_RESTORE), through its path below /proc/PID/root, or, if the process is
/// gone, through its path in Overdue's root. Opens only the mapped file itself, by device and
/// inode, never a file that has since taken its name. overlayfs and btrfs give mappings other
/// numbers; there, the same inode or the way through map_files is enough. Opens no file of a file
/// system that another process or host serves (ServedDevices). An empty Fd on failure.
Fd open_mapped_file(pid_t pid, const Mapping& mapping);

}  // namespace overdue
