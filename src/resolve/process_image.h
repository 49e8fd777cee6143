#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "symbols/process_maps.h"

namespace overdue {

/// The executable mappings of a process at some moment, from /proc or from kernel events. Other
/// memory is left out: no return address leads there, and there can be much of it.
class ProcessImage {
 public:
  /// A file kept open because its process may end before the file is needed. KeptFiles may close
  /// the file at any time to keep within its bound; `fd` is then empty.
  struct KeptFile {
    Fd fd;
  };
  struct Entry {
    Mapping mapping;  ///< its path is a view of `path`
    std::shared_ptr<const std::string> path;
    std::string build_id;                ///< as the kernel reported; empty if it did not
    KernelTime known_at{};               ///< time of the mapping, or of the read from /proc
    std::uint64_t inode_generation = 0;  ///< as the kernel reported; 0 if it did not
    /// Shared with the images that were copied from this one.
    std::shared_ptr<KeptFile> file;
  };

  static constexpr std::size_t max_mappings = 1u << 16;  // the kernel's own limit, as a rule

  explicit ProcessImage(pid_t pid) : pid_(pid) {}
  ProcessImage(pid_t pid, const ProcessMaps& maps, KernelTime read_at);

  /// The process that the image was made for; after a fork, other processes may share the image.
  pid_t pid() const { return pid_; }
  /// Changes whenever the image changes, so that results can be cached by id.
  std::uint64_t id() const { return id_; }
  void set_identity(pid_t pid, std::uint64_t id) {
    pid_ = pid;
    id_ = id;
  }
  /// Ascending by address.
  std::span<const Entry> entries() const { return entries_; }
  const Entry* find(std::uint64_t address) const;
  bool is_cut() const { return is_cut_; }

  /// Whether the image already has exactly this mapping.
  bool has(const Mapping& mapping) const;
  /// Whether `mapping` gives known code other names: it overlaps a known mapping, and at least one
  /// of the two is of a file. Anonymous memory has no names.
  bool changes_names(const Mapping& mapping) const;
  /// Adds a mapping and cuts its range out of the others. Copies the path. Returns the new entry,
  /// or null if the mapping is empty or there are too many.
  Entry* add(const Mapping& mapping, KernelTime known_at, std::string build_id = {},
             std::uint64_t inode_generation = 0);
  /// Cuts the range out of the mappings.
  void make_room(std::uint64_t start, std::uint64_t end);
  /// Drops the mappings that `other` does not have.
  void keep_common(const ProcessImage& other);
  /// Gives each file mapping without a kept file the file that `kept` returns.
  template <typename Kept>
  void keep_files(const Kept& kept) {
    for (Entry& entry : entries_)
      if (entry.mapping.is_file() && !entry.file) entry.file = kept(entry);
  }

 private:
  pid_t pid_;
  std::uint64_t id_ = 0;
  std::vector<Entry> entries_;
  bool is_cut_ = false;
};

}  // namespace overdue
