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
  std::string root;  ///< the cgroup that is mounted at mount_point; "/" unless in a container
  std::filesystem::path mount_point;

  /// "cgroup v2", "cgroup v1 memory".
  std::string description() const;
  /// Whether a BPF program can tell who is in it: in version 1 it finds a thread's cgroup through a
  /// controller, and a named hierarchy (`name=systemd`) has none.
  bool can_be_watched() const { return !controllers.starts_with("name="); }
};

/// One line of /proc/PID/cgroup: where a process is in one hierarchy.
struct CgroupMembership {
  int hierarchy_id = 0;
  std::string controllers;  ///< empty for v2
  std::string path;         ///< hostile text: users name cgroups
};

/// A cgroup to measure: the threads in it and in its descendants.
struct CgroupTarget {
  bool v2 = false;
  std::string controller;  ///< v1: the hierarchy's controllers as mounted; empty for v2
  int hierarchy_id = 0;
  std::uint64_t id = 0;  ///< the kernel's cgroup id: kernfs id, the directory's inode number
  std::string path;      ///< within the hierarchy, as /proc/PID/cgroup shows it
  std::filesystem::path directory;
  std::string note;  ///< what the user should know about how it was chosen; may be empty
};

/// The cgroup hierarchies of this machine, as they were mounted when this was constructed. Names of
/// cgroups are hostile text and come back raw.
class Cgroups {
 public:
  /// Reads `proc`/self/mountinfo and `proc`/self/cgroup; a machine without cgroups has no
  /// hierarchies.
  explicit Cgroups(const std::filesystem::path& proc = "/proc");

  /// In the kernel's order of hierarchy ids, so v2 comes first.
  std::span<const CgroupHierarchy> hierarchies() const { return hierarchies_; }

  /// The cgroup called `name`: a directory (/sys/fs/cgroup/unified/web), a path in a hierarchy
  /// (/web, web), or `CONTROLLER:PATH` (memory:/web). Of several hierarchies with this path, one
  /// whose cgroup holds processes is preferred, then v2, then the lowest hierarchy id; `note` says
  /// so. Throws Error: nothing of this name, or in a hierarchy that cannot be watched (exit status
  /// 1), a path with `..` or an empty one (2).
  CgroupTarget find(std::string_view name) const;

  /// The same without an Error where there is no such cgroup, or its name is no path.
  std::optional<CgroupTarget> try_find(std::string_view name) const;

  /// The cgroup `path` of one hierarchy, as /proc/PID/cgroup writes it; nothing where it does not
  /// exist or is not visible from here.
  std::optional<CgroupTarget> at(const CgroupHierarchy& hierarchy, std::string_view path) const;

  /// The hierarchy with this id; null where it is not mounted.
  const CgroupHierarchy* hierarchy(int id) const;

 private:
  std::vector<CgroupHierarchy> hierarchies_;
};

/// The lines of a /proc/PID/cgroup file. Lines that are not of that format are skipped.
std::vector<CgroupMembership> parse_memberships(std::string_view text);

/// Id → path of every cgroup of a hierarchy, as /proc/PID/cgroup shows it; at most `limit`, breadth
/// first.
std::map<std::uint64_t, std::string> cgroup_paths(const CgroupHierarchy& hierarchy,
                                                  std::size_t limit = 100'000);

/// Whether a process is in the cgroup or below it. Looks at no more than 10 000 cgroups.
bool holds_processes(const std::filesystem::path& cgroup_directory);

}  // namespace overdue
