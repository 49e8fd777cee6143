#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "target/cgroups.h"
#include "target/proc.h"

namespace overdue {

/// The container that a cgroup path names. `id` is empty for runtimes that have names only.
struct ContainerRef {
  /// "docker", "podman", "containerd", "cri-o", "lxc", "nspawn", …; "" if unknown
  std::string runtime;
  std::string id;    ///< 64 hexadecimal digits, or the runtime's own long id
  std::string name;  ///< for lxc and systemd-nspawn; hostile text
  std::string path;  ///< path of the container's own cgroup, up to the component that names it

  /// The first 12 digits of the id, else the name.
  std::string short_name() const { return id.empty() ? name : id.substr(0, 12); }
};

/// The innermost container that a cgroup path names, or nothing. A container's monitor (conmon,
/// lxc.monitor) is not in the container.
std::optional<ContainerRef> parse_container(std::string_view cgroup_path);

/// The short id or name of the innermost container that a cgroup path names; empty if it names
/// none.
std::string container_of(std::string_view cgroup_path);

/// Where container engines store the names of containers. The files belong to others and are not
/// trusted: reads are bounded.
struct ContainerStates {
  std::filesystem::path docker = "/var/lib/docker";
  std::filesystem::path podman = "/var/lib/containers/storage";

  /// Maps long ids to names, from docker's config.v2.json and podman's containers.json. Unreadable
  /// or malformed files and entries are skipped.
  std::map<std::string, std::string> names() const;
};

/// A running container.
struct ContainerTarget {
  std::string id;    ///< long id; empty if the runtime has names only
  std::string name;  ///< empty if unknown; hostile text
  std::string runtime;
  CgroupTarget cgroup;
};

/// Every container that has a process now and a cgroup that can be watched, sorted by id, or by
/// name if there is no id.
std::vector<ContainerTarget> running_containers(const Proc& proc, const Cgroups& cgroups,
                                                const ContainerStates& states);

/// The running container whose id or name is `wanted`, or whose id starts with `wanted` (at least 3
/// digits). Throws Error with exit status 1 if no container or several fit, and with exit status 2
/// if `wanted` is empty or too short a prefix.
ContainerTarget find_container(std::string_view wanted, const Proc& proc, const Cgroups& cgroups,
                               const ContainerStates& states);

}  // namespace overdue
