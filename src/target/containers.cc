#include "target/containers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::size_t id_length = 64;
constexpr std::size_t state_file_limit = 8 * 1024 * 1024;
constexpr std::size_t container_limit = 4096;
constexpr std::size_t name_limit = 256;
constexpr std::size_t candidates_shown = 8;
constexpr std::size_t shortest_prefix = 3;

bool is_hex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Undoes systemd's escapes in a unit name: `\x2d` for a dash.
std::string unescape_unit(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text.substr(i, 2) == "\\x" && i + 3 < text.size() &&
                        hex_digit(text[i + 2]) >= 0 && hex_digit(text[i + 3]) >= 0;
    if (!escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
    i += 3;
  }
  return plain;
}

/// Prefixes of a container's id in a cgroup name, each with its runtime.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> id_prefixes{{
    {"docker", "docker"},
    {"libpod", "podman"},
    {"cri-containerd", "containerd"},
    {"containerd", "containerd"},
    {"nerdctl", "containerd"},
    {"crio", "cri-o"},
}};

/// `docker-<64 hex>.scope`, `kubepods-…slice:cri-containerd:<64 hex>`, `<64 hex>` below /docker or
/// /kubepods.
std::optional<ContainerRef> container_by_id(std::string_view component, std::string_view parent) {
  remove_suffix(component, ".scope") || remove_suffix(component, ".service");
  if (component.size() < id_length) return std::nullopt;
  const std::string_view id = component.substr(component.size() - id_length);
  std::string_view prefix = component.substr(0, component.size() - id_length);
  if (!is_hex(id)) return std::nullopt;
  std::string runtime;
  if (prefix.empty()) {
    runtime = parent == "docker" || parent == "ecs" ? parent : "";
  } else {
    if (!remove_suffix(prefix, "-") && !remove_suffix(prefix, ":")) return std::nullopt;
    if (prefix.ends_with("conmon")) return std::nullopt;  // the monitor, outside the container
    prefix = prefix.substr(prefix.rfind(':') + 1);
    runtime = prefix;
    for (const auto& [word, engine] : id_prefixes)
      if (prefix == word) runtime = engine;
  }
  return ContainerRef{std::move(runtime), std::string(id), "", ""};
}

/// lxc, systemd-nspawn, garden, Fargate: containers known by a name.
std::optional<ContainerRef> container_by_name(std::string_view component, std::string_view parent,
                                              std::string_view grandparent) {
  if (component.starts_with("lxc.monitor")) return std::nullopt;
  const bool below_lxc = parent == "lxc" || parent == "lxc.payload";
  if (below_lxc || (remove_prefix(component, "lxc.payload.") && !component.empty()))
    return ContainerRef{"lxc", "", std::string(component), ""};
  if (parent == "garden") return ContainerRef{"garden", std::string(component), "", ""};
  if (grandparent == "ecs" && component.starts_with(parent))  // /ecs/<task>/<task>-<number>
    return ContainerRef{"ecs", std::string(component), "", ""};
  if (std::string_view name = component;
      remove_prefix(name, "machine-") && remove_suffix(name, ".scope"))
    return ContainerRef{"nspawn", "", unescape_unit(name), ""};
  if (std::string_view name = component;
      remove_prefix(name, "systemd-nspawn@") && remove_suffix(name, ".service"))
    return ContainerRef{"nspawn", "", unescape_unit(name), ""};
  return std::nullopt;
}

using Json = nlohmann::json;

/// A string member of `object`, which may be any JSON value. Empty if the member is missing, not a
/// string, or longer than name_limit.
std::string text_member(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto member = object.find(key);
  if (member == object.end() || !member->is_string()) return {};
  const auto& text = member->get_ref<const std::string&>();
  return text.size() <= name_limit ? text : std::string{};
}

Json read_json(const std::filesystem::path& path) {
  const auto text = read_text(path, state_file_limit, Links::refuse);
  return text ? Json::parse(*text, nullptr, false) : Json();
}

void add_docker_names(const std::filesystem::path& state,
                      std::map<std::string, std::string>& names) {
  const std::filesystem::path containers = state / "containers";
  for (const std::string& id : subdirectories(containers, container_limit)) {
    if (id.size() != id_length || !is_hex(id)) continue;
    std::string name = text_member(read_json(containers / id / "config.v2.json"), "Name");
    if (name.starts_with('/')) name.erase(0, 1);
    if (!name.empty()) names.emplace(id, std::move(name));
  }
}

void add_podman_names(const std::filesystem::path& state,
                      std::map<std::string, std::string>& names) {
  for (const std::string& driver : subdirectories(state, container_limit)) {
    if (!driver.ends_with("-containers")) continue;  // overlay-containers, vfs-containers, …
    const Json list = read_json(state / driver / "containers.json");
    if (!list.is_array()) continue;
    for (const Json& entry : list) {
      const std::string id = text_member(entry, "id");
      if (id.size() != id_length || !is_hex(id)) continue;
      const auto given = entry.find("names");
      if (given == entry.end() || !given->is_array() || given->empty() ||
          !given->front().is_string())
        continue;
      const std::string& name = given->front().get_ref<const std::string&>();
      if (!name.empty() && name.size() <= name_limit) names.emplace(id, name);
    }
  }
}

std::string describe(const ContainerTarget& container) {
  if (container.id.empty()) return printable(container.name);
  const std::string id = printable(std::string_view(container.id).substr(0, 12));
  return container.name.empty() ? id : fmt::format("{} ({})", id, printable(container.name));
}

std::string describe(const std::vector<const ContainerTarget*>& containers) {
  std::vector<std::string> shown;
  for (const ContainerTarget* container : containers)
    if (shown.size() < candidates_shown) shown.push_back(describe(*container));
  const std::string more = containers.size() > shown.size()
                               ? fmt::format(" and {} more", containers.size() - shown.size())
                               : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

/// The container with exactly this id or name, else the containers whose id starts with `wanted`.
std::vector<const ContainerTarget*> matches(const std::vector<ContainerTarget>& containers,
                                            std::string_view wanted) {
  std::vector<const ContainerTarget*> exact;
  std::vector<const ContainerTarget*> by_prefix;
  for (const ContainerTarget& container : containers) {
    if (container.id == wanted || container.name == wanted) exact.push_back(&container);
    if (!container.id.empty() && container.id.starts_with(wanted)) by_prefix.push_back(&container);
  }
  if (!exact.empty()) return exact;
  return wanted.size() >= shortest_prefix ? by_prefix : std::vector<const ContainerTarget*>{};
}

[[noreturn]] void throw_not_found(std::string_view wanted,
                                  const std::vector<ContainerTarget>& running,
                                  const ContainerStates& states) {
  for (const auto& [id, name] : states.names())
    if (id == wanted || name == wanted ||
        (wanted.size() >= shortest_prefix && id.starts_with(wanted)))
      throw Error("container {} ({}) is not running", printable(id.substr(0, 12)), printable(name))
          .hint("start it first");
  if (wanted.size() < shortest_prefix)
    throw Error("'{}' is too short for a container id, and no container has that name",
                printable(wanted))
        .hint("give at least 3 digits of the id, or the name")
        .exit_status(2);
  Error error("no container '{}'", printable(wanted));
  if (running.empty())
    throw std::move(error).hint(
        "no container is running here, or none in a cgroup that can be seen from here");
  std::vector<std::string_view> names;
  std::vector<const ContainerTarget*> all;
  for (const ContainerTarget& container : running) {
    if (!container.name.empty()) names.push_back(container.name);
    all.push_back(&container);
  }
  if (const std::string_view guess = nearest(wanted, names); !guess.empty())
    throw std::move(error).hint(fmt::format("did you mean '{}'?", printable(guess)));
  throw std::move(error).hint(fmt::format("running: {}", describe(all)));
}

}  // namespace

std::optional<ContainerRef> parse_container(std::string_view cgroup_path) {
  const auto parts = split(cgroup_path, '/');
  for (std::size_t i = parts.size(); i-- > 0;) {
    const std::string_view parent = i > 0 ? parts[i - 1] : std::string_view{};
    const std::string_view grandparent = i > 1 ? parts[i - 2] : std::string_view{};
    auto found = container_by_id(parts[i], parent);
    if (!found) found = container_by_name(parts[i], parent, grandparent);
    if (!found) continue;
    const std::size_t end =
        static_cast<std::size_t>(parts[i].data() + parts[i].size() - cgroup_path.data());
    found->path = cgroup_path.substr(0, end);
    return found;
  }
  return std::nullopt;
}

std::string container_of(std::string_view cgroup_path) {
  const auto container = parse_container(cgroup_path);
  return container ? container->short_name() : std::string{};
}

std::map<std::string, std::string> ContainerStates::names() const {
  const ReadRights rights;
  std::map<std::string, std::string> names;
  add_docker_names(docker, names);
  add_podman_names(podman, names);
  return names;
}

std::vector<ContainerTarget> running_containers(const Proc& proc, const Cgroups& cgroups,
                                                const ContainerStates& states) {
  const auto names = states.names();
  std::map<std::string, ContainerTarget> found;  // by id or name
  for (const std::uint32_t pid : proc.processes()) {
    const auto text = read_text(proc.root() / std::to_string(pid) / "cgroup", 1024 * 1024);
    if (!text) continue;
    auto memberships = parse_memberships(*text);
    std::sort(memberships.begin(), memberships.end(),
              [](const auto& a, const auto& b) { return a.hierarchy_id < b.hierarchy_id; });
    for (const CgroupMembership& membership : memberships) {
      const auto container = parse_container(membership.path);
      if (!container) continue;
      const std::string& key = container->id.empty() ? container->name : container->id;
      const auto known = found.find(key);
      // v2 (id 0) is preferred, then the lowest hierarchy id, so that the order of processes does
      // not matter.
      if (known != found.end() && known->second.cgroup.hierarchy_id <= membership.hierarchy_id)
        continue;
      const CgroupHierarchy* hierarchy = cgroups.hierarchy(membership.hierarchy_id);
      auto cgroup = hierarchy && hierarchy->can_be_watched()
                        ? cgroups.at(*hierarchy, container->path)
                        : std::nullopt;
      if (!cgroup) continue;
      const auto given = names.find(container->id);
      std::string name = given != names.end() ? given->second : container->name;
      found.insert_or_assign(key, ContainerTarget{container->id, std::move(name),
                                                  container->runtime, std::move(*cgroup)});
    }
  }
  std::vector<ContainerTarget> containers;
  containers.reserve(found.size());
  for (auto& [key, container] : found) containers.push_back(std::move(container));
  return containers;
}

ContainerTarget find_container(std::string_view wanted, const Proc& proc, const Cgroups& cgroups,
                               const ContainerStates& states) {
  if (wanted.empty()) throw Error("the container name is empty").exit_status(2);
  const auto running = running_containers(proc, cgroups, states);
  const auto candidates = matches(running, wanted);
  if (candidates.empty()) throw_not_found(wanted, running, states);
  if (candidates.size() > 1)
    throw Error("'{}' fits {} containers", printable(wanted), candidates.size())
        .hint(fmt::format("give more of the id: {}", describe(candidates)));
  return *candidates.front();
}

}  // namespace overdue
