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

/// The memory with code of a process at some moment, whoever said so. Other memory is left out: no
/// return address leads there, and there can be much of it.
class ProcessImage {
 public:
  /// A file kept open because its process may end before anybody asks. Whoever opened it may close
  /// it again at any time, and then it is empty: there is a bound for how many there are.
  struct KeptFile {
    Fd fd;
  };
  struct Entry {
    Mapping mapping;  ///< its path is that of `path`
    std::shared_ptr<const std::string> path;
    std::string build_id;                ///< as the kernel said; empty where it did not
    KernelTime known_at{};               ///< when it was mapped, or read from /proc
    std::uint64_t inode_generation = 0;  ///< as the kernel said; 0 where it did not
    /// Shared with the images that were copied from this one.
    std::shared_ptr<KeptFile> file;
  };

  static constexpr std::size_t most_mappings = 1u << 16;  // the kernel's own limit, as a rule

  explicit ProcessImage(pid_t pid) : pid_(pid) {}
  ProcessImage(pid_t pid, const ProcessMaps& maps, KernelTime read_at);

  /// Of the process it was first the image of; after a fork there may be others.
  pid_t pid() const { return pid_; }
  /// Another one whenever something of it changes: what was found with it may be kept by it.
  std::uint64_t id() const { return id_; }
  void set_identity(pid_t pid, std::uint64_t id) {
    pid_ = pid;
    id_ = id;
  }
  /// By address.
  std::span<const Entry> entries() const { return entries_; }
  const Entry* find(std::uint64_t address) const;
  bool is_cut() const { return is_cut_; }

  /// Whether this very mapping is known already.
  bool has(const Mapping& mapping) const;
  /// Whether addresses in it have other names with it than without it. Anonymous memory has none.
  bool changes_names(const Mapping& mapping) const;
  /// What it overlaps goes, as far as it overlaps. The path is copied. Returns what was added, or
  /// null where there are too many.
  Entry* add(const Mapping& mapping, KernelTime known_at, std::string build_id = {},
             std::uint64_t inode_generation = 0);
  /// Cuts out what lies there.
  void make_room(std::uint64_t start, std::uint64_t end);
  /// Drops what `other` does not have.
  void keep_common(const ProcessImage& other);
  /// Gives each mapping the file that `kept` has for it.
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
