#include "target/cgroups.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t proc_file_limit = 16 * 1024 * 1024;
constexpr std::size_t children_limit = 100'000;
constexpr std::size_t children_shown = 6;
constexpr std::size_t lineage_limit = 64;

/// `/a/b` from `a//b/./`: one leading slash, no empty or `.` component.
std::string normalised(std::string_view path) {
  std::string result;
  for (const std::string_view part : split(path, '/'))
    if (part != ".") result.append("/").append(part);
  return result.empty() ? "/" : result;
}

/// The cgroup above a normalised path.
std::string parent_of(const std::string& path) {
  return normalised(path.substr(0, path.rfind('/')));
}

bool has_dot_dot(std::string_view path) {
  const auto parts = split(path, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

/// The rest of `path` after `prefix` ("" or "/…"), if `prefix` is the path itself or one of its
/// parents.
std::optional<std::string_view> below(std::string_view path, std::string_view prefix) {
  if (prefix == "/") return path == "/" ? std::string_view{} : path;
  if (!path.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = path.substr(prefix.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  return rest;
}

/// Whether the super-block options of a v1 mount contain all of `controllers`: controllers and
/// `name=`, as in /proc/PID/cgroup.
bool same_controllers(std::string_view mount_options, std::string_view controllers) {
  const auto options = split(mount_options, ',');
  const auto wanted = split(controllers, ',');
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](std::string_view word) {
    return std::find(options.begin(), options.end(), word) != options.end();
  });
}

/// Parses one line of mountinfo; nothing if it is not a cgroup mount.
std::optional<CgroupHierarchy> parse_mount(std::string_view line,
                                           std::span<const CgroupMembership> memberships) {
  // 31 23 0:28 ROOT MOUNT_POINT OPTIONS [TAGS…] - TYPE SOURCE SUPER_OPTIONS
  const std::size_t separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, separator), ' ');
  const auto after = split(line.substr(separator + 3), ' ');
  if (before.size() < 6 || after.empty()) return std::nullopt;
  CgroupHierarchy hierarchy;
  hierarchy.root = unescape_octal(before[3]);
  hierarchy.mount_point = unescape_octal(before[4]);
  hierarchy.v2 = after[0] == "cgroup2";
  if (hierarchy.v2) return hierarchy;
  if (after[0] != "cgroup") return std::nullopt;
  const auto member =
      std::find_if(memberships.begin(), memberships.end(), [&](const auto& line_of) {
        return line_of.hierarchy_id != 0 && same_controllers(after.back(), line_of.controllers);
      });
  if (member == memberships.end()) return std::nullopt;
  hierarchy.controllers = member->controllers;
  hierarchy.id = member->hierarchy_id;
  return hierarchy;
}

/// Whether a cgroup's list of processes or threads has an entry. The file must be read, because
/// kernfs shows size 0.
bool lists_someone(const std::filesystem::path& file) {
  const auto text = read_text(file, proc_file_limit);
  return text && !text->empty();
}

/// The deepest directory on the way to `path` that exists in the hierarchy, as a path in it.
std::string nearest_existing(const Cgroups& cgroups, const CgroupHierarchy& hierarchy,
                             std::string path) {
  while (path != "/" && !cgroups.at(hierarchy, path)) path = parent_of(path);
  return path;
}

/// "nearest existing parent …; did you mean …" for a path that is not in `hierarchy`.
std::string describe_neighbourhood(const Cgroups& cgroups, const CgroupHierarchy& hierarchy,
                                   const std::string& path) {
  const std::string parent = nearest_existing(cgroups, hierarchy, path);
  const auto target = cgroups.at(hierarchy, parent);
  const auto children =
      target ? subdirectories(target->directory, children_limit) : std::vector<std::string>{};
  std::string text = fmt::format("{} has {} ", hierarchy.description(), printable(parent));
  if (children.empty()) return text + "with nothing below it";
  // Empty if the cgroup was created meanwhile.
  const auto missing = split(below(path, parent).value_or(""), '/');
  const std::vector<std::string_view> candidates(children.begin(), children.end());
  if (const std::string_view guess = nearest(missing.empty() ? "" : missing.front(), candidates);
      !guess.empty())
    return text + fmt::format("with '{}' below it: did you mean that?", printable(guess));
  std::vector<std::string> shown;
  for (const std::string& child : children)
    if (shown.size() < children_shown) shown.push_back(printable(child));
  text += fmt::format("with {} below it", fmt::join(shown, ", "));
  if (children.size() > shown.size())
    text += fmt::format(" and {} more", children.size() - shown.size());
  return text;
}

/// The parts of a name as the user gave it.
struct Wanted {
  const CgroupHierarchy* hierarchy = nullptr;  ///< null: any
  std::string path;                            ///< path in the hierarchy
};

/// The hierarchy whose mount point holds the directory `path`; the longest mount point wins.
std::optional<Wanted> under_mount_point(std::span<const CgroupHierarchy> hierarchies,
                                        const std::string& path) {
  std::optional<Wanted> wanted;
  for (const CgroupHierarchy& hierarchy : hierarchies) {
    const auto rest = below(path, hierarchy.mount_point.native());
    if (!rest) continue;
    if (wanted &&
        wanted->hierarchy->mount_point.native().size() >= hierarchy.mount_point.native().size())
      continue;
    // A root with `..` lies outside Overdue's cgroup namespace; at() then takes paths below the
    // mount point.
    const std::string root =
        hierarchy.root == "/" || has_dot_dot(hierarchy.root) ? "" : hierarchy.root;
    wanted = Wanted{&hierarchy, root + std::string(*rest)};
    if (wanted->path.empty()) wanted->path = "/";
  }
  return wanted;
}

/// Whether `word` names the hierarchy: one of its controllers, all of them, or "unified".
bool is_called(const CgroupHierarchy& hierarchy, std::string_view word) {
  const auto words = split(hierarchy.controllers, ',');
  return word == hierarchy.controllers || std::ranges::find(words, word) != words.end() ||
         (hierarchy.v2 && word == "unified");
}

bool has_directory(const CgroupHierarchy& hierarchy, const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(hierarchy.mount_point.native() + path, error);
}

Wanted take_apart(std::span<const CgroupHierarchy> hierarchies, std::string_view name) {
  const std::size_t colon = name.find(":/");
  if (colon != std::string_view::npos) {
    for (const CgroupHierarchy& hierarchy : hierarchies)
      if (is_called(hierarchy, name.substr(0, colon)))
        return {&hierarchy, normalised(name.substr(colon + 1))};
  }
  const std::string path = normalised(name);
  if (auto wanted = under_mount_point(hierarchies, path)) return *wanted;
  // Distributions link /sys/fs/cgroup/cpu to cpu,cpuacct.
  std::error_code error;
  if (const auto real = std::filesystem::canonical(path, error); !error && name.starts_with('/'))
    if (auto wanted = under_mount_point(hierarchies, real.native())) return *wanted;
  // A path below /sys/fs/cgroup, such as `cpu/app`, unless a cgroup has exactly this path.
  const std::size_t slash = name.find('/');
  const auto has_whole = [&](const CgroupHierarchy& each) { return has_directory(each, path); };
  if (slash == 0 || slash == std::string_view::npos || std::ranges::any_of(hierarchies, has_whole))
    return {nullptr, path};
  for (const CgroupHierarchy& hierarchy : hierarchies)
    if (is_called(hierarchy, name.substr(0, slash)))
      return {&hierarchy, normalised(name.substr(slash))};
  return {nullptr, path};
}

}  // namespace

std::string CgroupHierarchy::description() const {
  return v2 ? "cgroup v2" : fmt::format("cgroup v1 {}", printable(controllers));
}

bool CgroupHierarchy::may_have(std::string_view controller) const {
  const auto words = split(controllers, ',');
  return v2 || std::ranges::find(words, controller) != words.end();
}

Cgroups::Cgroups(const std::filesystem::path& proc) {
  const auto mounts = read_text(proc / "self/mountinfo", proc_file_limit).value_or("");
  const auto memberships =
      parse_memberships(read_text(proc / "self/cgroup", proc_file_limit).value_or(""));
  for (const std::string_view line : split(mounts, '\n')) {
    auto found = parse_mount(line, memberships);
    if (!found) continue;
    // A hierarchy may be mounted several times, in part or in full; a mount of the whole is
    // preferred.
    const auto known = std::find_if(hierarchies_.begin(), hierarchies_.end(),
                                    [&](const auto& other) { return other.id == found->id; });
    if (known == hierarchies_.end())
      hierarchies_.push_back(std::move(*found));
    else if (found->root == "/" && known->root != "/")
      *known = std::move(*found);
  }
  std::sort(hierarchies_.begin(), hierarchies_.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

const CgroupHierarchy* Cgroups::hierarchy(int id) const {
  for (const CgroupHierarchy& candidate : hierarchies_)
    if (candidate.id == id) return &candidate;
  return nullptr;
}

std::optional<CgroupTarget> Cgroups::at(const CgroupHierarchy& hierarchy,
                                        std::string_view path) const {
  if (has_dot_dot(path)) return std::nullopt;  // outside Overdue's cgroup namespace
  const std::string clean = normalised(path);
  const auto inside = below(clean, hierarchy.root);
  const std::string relative(inside ? *inside : clean == "/" ? "" : clean);
  CgroupTarget target;
  target.directory = hierarchy.mount_point.native() + relative;
  struct stat facts{};
  if (lstat(target.directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return std::nullopt;
  target.v2 = hierarchy.v2;
  target.controller = hierarchy.controllers;
  target.hierarchy_id = hierarchy.id;
  target.id = facts.st_ino;
  target.path = inside ? clean : hierarchy.root + relative;
  return target;
}

std::vector<CgroupTarget> Cgroups::lineage(std::span<const CgroupMembership> memberships,
                                           std::string_view controller) const {
  std::vector<CgroupTarget> found;
  for (const CgroupMembership& membership : memberships) {
    const CgroupHierarchy* of = hierarchy(membership.hierarchy_id);
    if (!of || !of->may_have(controller)) continue;
    std::string path = normalised(membership.path);
    for (std::size_t i = 0; i < lineage_limit; ++i) {
      if (auto target = at(*of, path)) found.push_back(std::move(*target));
      if (path == "/") break;
      path = parent_of(path);
    }
  }
  return found;
}

std::optional<CgroupTarget> Cgroups::try_find(std::string_view name) const {
  if (name.empty() || has_dot_dot(name)) return std::nullopt;
  const Wanted wanted = take_apart(hierarchies_, name);
  if (wanted.hierarchy && !wanted.hierarchy->can_be_watched())
    throw Error("cannot watch {}: {} has no controller to find its threads by", printable(name),
                wanted.hierarchy->description())
        .hint("name the cgroup in a hierarchy with a controller, such as memory:/PATH");
  if (wanted.hierarchy) return at(*wanted.hierarchy, wanted.path);
  std::vector<CgroupTarget> found;
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (!hierarchy.can_be_watched()) continue;
    if (auto target = at(hierarchy, wanted.path)) found.push_back(std::move(*target));
  }
  if (found.empty()) return std::nullopt;
  // hierarchies_ is sorted by id, v2 first. The first cgroup that holds processes wins, else the
  // first.
  auto chosen = std::find_if(found.begin(), found.end(),
                             [](const auto& target) { return holds_processes(target.directory); });
  if (chosen == found.end()) chosen = found.begin();
  if (found.size() > 1) {
    std::vector<std::string> others;
    for (const CgroupTarget& target : found)
      if (target.hierarchy_id != chosen->hierarchy_id)
        others.push_back(target.v2 ? "v2" : printable(target.controller));
    chosen->note = fmt::format(
        "cgroup {} exists in {} hierarchies: using {}, not {} (name a directory to choose)",
        printable(wanted.path), found.size(),
        chosen->v2 ? "v2" : "v1 " + printable(chosen->controller), fmt::join(others, ", "));
  }
  return std::move(*chosen);
}

CgroupTarget Cgroups::find(std::string_view name) const {
  if (name.empty()) throw Error("the cgroup path is empty").exit_status(2);
  if (has_dot_dot(name))
    throw Error("cgroup path '{}' contains '..'", printable(name))
        .hint("name the cgroup itself, as /proc/PID/cgroup shows it")
        .exit_status(2);
  if (hierarchies_.empty())
    throw Error("cannot find cgroup '{}': no cgroup file system is mounted", printable(name))
        .hint("mount one: mount -t cgroup2 none /sys/fs/cgroup");
  if (auto target = try_find(name)) return std::move(*target);

  const Wanted wanted = take_apart(hierarchies_, name);
  std::error_code error;
  if (!wanted.hierarchy && name.starts_with('/') &&
      std::filesystem::is_directory(wanted.path, error)) {
    std::vector<std::string> mounts;
    mounts.reserve(hierarchies_.size());
    for (const CgroupHierarchy& hierarchy : hierarchies_)
      mounts.push_back(printable(hierarchy.mount_point.native()));
    throw Error("{} is a directory but not a cgroup", printable(name))
        .hint(fmt::format("cgroups are mounted at {}", fmt::join(mounts, ", ")));
  }
  const CgroupHierarchy* where = wanted.hierarchy;
  // Hints at the hierarchy in which most of the path exists.
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (wanted.hierarchy) break;
    if (!where || nearest_existing(*this, hierarchy, wanted.path).size() >
                      nearest_existing(*this, *where, wanted.path).size())
      where = &hierarchy;
  }
  throw Error("no cgroup '{}'{}", printable(name), wanted.hierarchy ? "" : " in any hierarchy")
      .hint(describe_neighbourhood(*this, *where, wanted.path));
}

std::vector<CgroupMembership> parse_memberships(std::string_view text) {
  std::vector<CgroupMembership> memberships;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto id = parse_u32(line.substr(0, first));
    if (!id || *id > 0x7fffffff) continue;
    std::string_view path = line.substr(second + 1);
    constexpr std::string_view deleted = " (deleted)";
    if (path.ends_with(deleted)) path.remove_suffix(deleted.size());
    memberships.push_back({static_cast<int>(*id),
                           std::string(line.substr(first + 1, second - first - 1)),
                           std::string(path)});
  }
  return memberships;
}

std::map<std::uint64_t, std::string> cgroup_paths(const CgroupHierarchy& hierarchy,
                                                  std::size_t limit) {
  std::map<std::uint64_t, std::string> paths;
  std::deque<std::string> waiting{""};
  while (!waiting.empty() && paths.size() < limit) {
    const std::string relative = std::move(waiting.front());
    waiting.pop_front();
    const std::filesystem::path directory = hierarchy.mount_point.native() + relative;
    struct stat facts{};
    if (lstat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) continue;
    const std::string shown = (hierarchy.root == "/" ? "" : hierarchy.root) + relative;
    paths.emplace(facts.st_ino, shown.empty() ? "/" : shown);
    const std::size_t room = limit - std::min(limit, paths.size() + waiting.size());
    for (const std::string& child : subdirectories(directory, room))
      waiting.push_back(fmt::format("{}/{}", relative, child));
  }
  return paths;
}

bool holds_processes(const std::filesystem::path& cgroup_directory) {
  constexpr std::size_t search_limit = 10'000;
  std::deque<std::filesystem::path> waiting{cgroup_directory};
  for (std::size_t seen = 0; !waiting.empty() && seen < search_limit; ++seen) {
    const std::filesystem::path directory = std::move(waiting.front());
    waiting.pop_front();
    // cgroup.procs of a threaded v2 cgroup cannot be read; cgroup.threads can.
    if (lists_someone(directory / "cgroup.procs") || lists_someone(directory / "cgroup.threads"))
      return true;
    for (const std::string& child : subdirectories(directory, search_limit))
      waiting.push_back(directory / child);
  }
  return false;
}

}  // namespace overdue
