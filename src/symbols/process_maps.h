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
  std::uint64_t inode = 0;  ///< 0: of no file
  bool is_executable = false;
  bool is_deleted = false;  ///< the file has no name any more, or " (deleted)" is part of its name
  /// As the process's mount namespace names it, without " (deleted)"; "[vdso]", "[heap]", …; or
  /// empty. Hostile text. Lives as long as the ProcessMaps it is in.
  std::string_view path;

  bool is_file() const { return inode != 0; }
};

/// The address space of a process at one moment. Of more than a million mappings the first million.
class ProcessMaps {
 public:
  ProcessMaps() = default;
  ProcessMaps(ProcessMaps&&) noexcept = default;
  ProcessMaps& operator=(ProcessMaps&&) noexcept = default;

  /// Lines that make no sense are counted.
  static ProcessMaps parse(std::string_view text);
  /// Nothing where there is no such process, or we may not look.
  static std::optional<ProcessMaps> read(pid_t pid);
  /// For mappings from elsewhere than /proc; the path is copied. What it overlaps goes.
  void add(Mapping mapping);

  const Mapping* find(std::uint64_t address) const;
  /// In the order of their addresses.
  std::span<const Mapping> all() const { return mappings_; }
  std::size_t malformed_lines() const { return malformed_; }
  bool is_cut() const { return is_cut_; }

 private:
  bool add_line(std::string_view line);
  std::string_view kept(std::string_view path);

  std::vector<Mapping> mappings_;
  std::deque<std::string> paths_;  // a deque: views of it must hold when it grows or is moved
  std::size_t malformed_ = 0;
  bool is_cut_ = false;
};

/// Opens the file behind a mapping for reading: through /proc/PID/map_files (deleted files too;
/// needs CAP_CHECKPOINT_RESTORE), through its path below /proc/PID/root, or, when the process is
/// gone, by its path here. Only the very file that is mapped, by device and inode, and never what
/// took its name since; on overlayfs and btrfs, which give mappings other numbers, by what they
/// allow to compare. None of a file system that another process or host serves (ServedDevices). An
/// empty Fd where that cannot be had.
Fd open_mapped_file(pid_t pid, const Mapping& mapping);

}  // namespace overdue
