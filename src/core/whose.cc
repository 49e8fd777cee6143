#include "core/whose.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

constexpr std::string_view unknown_name = "(unknown)", other_name = "(other)",
                           kernel_name = "(kernel)";
constexpr std::uint64_t other_cgroup = ~std::uint64_t{0}, kernel_cgroup = other_cgroup - 1;

std::string numbered(std::string_view name, std::uint32_t number) {
  return number == 0 ? printable(name) : fmt::format("{}[{}]", printable(name), number);
}

std::string counted_name(std::string_view name, std::uint64_t count) {
  return count > 1 ? fmt::format("{} ×{}", printable(name), grouped(count)) : printable(name);
}

}  // namespace

std::optional<Whose> whose_named(std::string_view word) {
  const auto found = std::ranges::find(whose_words, word);
  if (found == whose_words.end()) return std::nullopt;
  return static_cast<Whose>(found - whose_words.begin());
}

void check_whose(std::string_view word, std::span<const std::string_view> words) {
  if (std::ranges::find(words, word) != words.end()) return;
  const std::string_view close = nearest(word, words);
  throw Error("unknown key '{}' for --by", printable(word))
      .hint(close.empty() ? fmt::format("keys: {}", fmt::join(words, ", "))
                          : fmt::format("did you mean '{}'?", close))
      .exit_status(2);
}

Owner owner_of(const event_header& header, const process_origin& origin) {
  Owner owner{.pid = header.pid,
              .tid = header.tid,
              .comm = std::string(fixed_text(header.comm)),
              .cgroup_id = header.cgroup_id,
              .process = std::string(fixed_text(origin.process)),
              .parent_pid = origin.parent_pid,
              .parent = std::string(fixed_text(origin.parent))};
  // A recording of an older version, or a thread that has left the target.
  if (!origin.is_known) {
    owner.process = owner.comm;
    owner.parent = unknown_name;
  }
  return owner;
}

Owner other_owner() {
  return {.comm = std::string(other_name),
          .cgroup_id = other_cgroup,
          .process = std::string(other_name),
          .parent = std::string(other_name)};
}

Owner kernel_owner() {
  return {.cgroup_id = kernel_cgroup, .process = std::string(kernel_name)};
}

void add_to_key(Owner& key, const Owner& owner, Whose by) {
  switch (by) {
    case Whose::thread:
      key.tid = owner.tid;
      [[fallthrough]];
    case Whose::process:
      key.pid = owner.pid;
      return;
    case Whose::name:
      key.comm = owner.comm;
      return;
    case Whose::group:
      key.pid = owner.pid;
      [[fallthrough]];
    case Whose::pattern:
      key.comm = without_numbers(owner.comm);
      return;
    case Whose::cgroup:
      key.cgroup_id = owner.cgroup_id;
      return;
    case Whose::parent:
      key.process = owner.process;
      key.parent_pid = owner.parent_pid;
      key.parent = owner.parent;
  }
}

Owner key_of(const Owner& owner, Whose by) {
  Owner key;
  add_to_key(key, owner, by);
  return key;
}

std::string owner_text(const Owner& owner, Whose by, std::uint64_t count) {
  if (by == Whose::cgroup) return printable(owner.cgroup);
  if (by == Whose::parent) {
    std::string name = counted_name(owner.process, count);
    if (owner.parent_pid == 0 && owner.parent != unknown_name) return name;
    return fmt::format("{} from {}", name, numbered(owner.parent, owner.parent_pid));
  }
  if (owner.tid != 0) return numbered(owner.comm, owner.tid);
  if (owner.pid != 0 && by != Whose::group) return numbered(owner.comm, owner.pid);
  return counted_name(owner.comm, count);
}

std::string cgroup_text(std::uint64_t cgroup_id, const Names& names) {
  if (cgroup_id == 0) return std::string(unknown_name);
  if (cgroup_id == other_cgroup) return std::string(other_name);
  if (cgroup_id == kernel_cgroup) return std::string(kernel_name);
  const auto path = names.cgroups.find(cgroup_id);
  return path == names.cgroups.end() ? fmt::format("cgroup {} (gone)", cgroup_id) : path->second;
}

void resolve_cgroup(Owner& owner, const Names& names) {
  owner.cgroup = cgroup_text(owner.cgroup_id, names);
}

void describe_common(Members& member, const Owner& owner, std::uint64_t processes) {
  const bool has_parent = !owner.parent.empty() || owner.parent_pid != 0;
  member("cgroup", when(!owner.cgroup.empty(), owner.cgroup), {.help = "with --by cgroup: path"});
  member.object_if(has_parent, "parent", [&] {
    member.type("parent", "The process that started others");
    member("pid", owner.parent_pid, {.help = "0: the kernel, or not known"});
    member("comm", owner.parent);
  });
  member("processes", when(processes != 0 || has_parent || !owner.cgroup.empty(), processes),
         {.help = "number of different processes"});
}

void ProcessCounts::add(const Owner& key, std::uint32_t pid, std::uint64_t start_ns) {
  const Process process{start_ns, pid};
  if (kept_ >= most_) {
    const auto known = processes_.find(key);
    if (known == processes_.end() || !known->second.contains(process)) ++left_out_;
    return;
  }
  if (processes_[key].insert(process).second) ++kept_;
}

void ProcessCounts::merge(const ProcessCounts& other) {
  for (const auto& [key, processes] : other.processes_)
    for (const auto& [start_ns, pid] : processes) add(key, pid, start_ns);
  left_out_ += other.left_out_;
}

std::uint64_t ProcessCounts::count(const Owner& key) const {
  const auto known = processes_.find(key);
  return known == processes_.end() ? 0 : known->second.size();
}

void ProcessCounts::clear() {
  processes_.clear();
  kept_ = 0;
  left_out_ = 0;
}

std::string left_out_text(const ProcessCounts& counts) {
  if (counts.left_out() == 0) return {};
  return fmt::format("processes too many to count are in the sums and not in ×N; their records: {}",
                     grouped(counts.left_out()));
}

}  // namespace overdue
