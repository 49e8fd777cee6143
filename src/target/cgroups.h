#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// One mounted cgroup hierarchy: version 2, or one of version 1 with its controllers.
struct CgroupHierarchy {
  bool v2 = false;
  std::string controllers;  ///< v1: "cpu,cpuacct" or "name=systemd"; empty for v2
  int id = 0;               ///< the kernel's hierarchy id; 0 for v2
  std::string root;         ///< cgroup mounted at mount_point; "/" outside of containers
  std::filesystem::path mount_point;

  /// "cgroup v2", "cgroup v1 memory".
  std::string description() const;
  /// Whether its cgroups may have files of this controller.
  bool may_have(std::string_view controller) const;
  /// Whether a BPF program can find the threads in the hierarchy's cgroups. In version 1, the
  /// program finds a thread's cgroup through a controller; a named hierarchy (`name=systemd`) has
  /// none.
  bool can_be_watched() const { return !controllers.starts_with("name="); }
};

/// One line of /proc/PID/cgroup: the cgroup of a process in one hierarchy.
struct CgroupMembership {
  int hierarchy_id = 0;
  std::string controllers;  ///< empty for v2
  std::string path;         ///< hostile text: users choose the names of cgroups
};

/// A cgroup to measure: the threads in it and in its descendants.
struct CgroupTarget {
  bool v2 = false;
  std::string controller;  ///< v1: the hierarchy's controllers as mounted; empty for v2
  int hierarchy_id = 0;
  std::uint64_t id = 0;  ///< the kernel's cgroup id: kernfs id, the directory's inode number
  std::string path;      ///< path within the hierarchy, as in /proc/PID/cgroup
  std::filesystem::path directory;
  std::string note;  ///< a note for the user if several cgroups fit the name; else empty
};

/// The machine's cgroup hierarchies, as mounted when the object was constructed. Names of cgroups
/// are hostile text and are returned raw.
class Cgroups {
 public:
  /// Reads `proc`/self/mountinfo and `proc`/self/cgroup; a machine without cgroups has no
  /// hierarchies.
  explicit Cgroups(const std::filesystem::path& proc = "/proc");

  /// Ascending by the kernel's hierarchy id, so v2 comes first.
  std::span<const CgroupHierarchy> hierarchies() const { return hierarchies_; }

  /// The cgroup called `name`: a directory (/sys/fs/cgroup/unified/web), a path in a hierarchy
  /// (/web, web), or `CONTROLLER:PATH` (memory:/web). If several hierarchies have this path, find()
  /// prefers a cgroup that holds processes, then v2, then the lowest hierarchy id; `note` says so.
  /// Throws Error with exit status 1 if there is no such cgroup or its hierarchy cannot be watched,
  /// and with exit status 2 if `name` is empty or contains `..`.
  CgroupTarget find(std::string_view name) const;

  /// Like find(), but returns nothing if there is no such cgroup, or if `name` is empty or contains
  /// `..`. Throws Error if the hierarchy cannot be watched.
  std::optional<CgroupTarget> try_find(std::string_view name) const;

  /// The cgroup `path` of one hierarchy, with `path` as in /proc/PID/cgroup. Nothing if the cgroup
  /// does not exist or is not visible to Overdue.
  std::optional<CgroupTarget> at(const CgroupHierarchy& hierarchy, std::string_view path) const;

  /// The cgroup of a process in each hierarchy with this controller, and those above, up to the
  /// root: the process's own first. Cgroups that are not visible to Overdue are left out, and those
  /// above the 64 nearest. A hierarchy of version 2 counts whether it has the controller or not.
  std::vector<CgroupTarget> lineage(std::span<const CgroupMembership> memberships,
                                    std::string_view controller) const;

  /// The hierarchy with this id; null if it is not mounted.
  const CgroupHierarchy* hierarchy(int id) const;

 private:
  std::vector<CgroupHierarchy> hierarchies_;
};

/// The lines of a /proc/PID/cgroup file; malformed lines are skipped.
std::vector<CgroupMembership> parse_memberships(std::string_view text);

/// Maps the id of every cgroup of a hierarchy to its path, as in /proc/PID/cgroup. Breadth first,
/// at most `limit` cgroups.
std::map<std::uint64_t, std::string> cgroup_paths(const CgroupHierarchy& hierarchy,
                                                  std::size_t limit = 100'000);

/// Whether the cgroup or one of its descendants holds a process. Searches at most 10,000 cgroups.
bool holds_processes(const std::filesystem::path& cgroup_directory);

}  // namespace overdue
