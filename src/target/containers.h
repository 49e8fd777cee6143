#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "target/cgroups.h"
#include "target/proc.h"

namespace overdue {

/// What a cgroup path says about the container it belongs to. `id` is empty for runtimes that know
/// names only.
struct ContainerRef {
  std::string
      runtime;  ///< "docker", "podman", "containerd", "cri-o", "lxc", "nspawn", …; "" where unknown
  std::string id;    ///< 64 hexadecimal digits, or the runtime's own long id
  std::string name;  ///< lxc, systemd-nspawn; hostile text
  std::string path;  ///< the container's own cgroup: the path up to the component that names it

  /// The first 12 digits of the id, else the name.
  std::string short_name() const { return id.empty() ? name : id.substr(0, 12); }
};

/// The innermost container on a cgroup path; nothing where it names none. A container's monitor
/// (conmon, lxc.monitor) is not in the container.
std::optional<ContainerRef> parse_container(std::string_view cgroup_path);

/// Short id or name of the container a cgroup path is in; empty outside of containers.
std::string container_of(std::string_view cgroup_path);

/// Where container engines keep the names they gave. The files are other people's: bounded, never
/// trusted.
struct ContainerStates {
  std::filesystem::path docker = "/var/lib/docker";
  std::filesystem::path podman = "/var/lib/containers/storage";

  /// Long id → name, from docker's config.v2.json and podman's containers.json. What cannot be read
  /// or is not as expected is left out.
  std::map<std::string, std::string> names() const;
};

/// A running container.
struct ContainerTarget {
  std::string id;    ///< long; empty where the runtime has names only
  std::string name;  ///< empty where unknown; hostile text
  std::string runtime;
  CgroupTarget cgroup;
};

/// Every container that has a process now, by id and name.
std::vector<ContainerTarget> running_containers(const Proc& proc, const Cgroups& cgroups,
                                                const ContainerStates& states);

/// The running container with this name, or whose id starts with `wanted` (at least 3 digits).
/// Throws Error: no such container, or several (exit status 1), too short a prefix (2).
ContainerTarget find_container(std::string_view wanted, const Proc& proc, const Cgroups& cgroups,
                               const ContainerStates& states);

}  // namespace overdue
