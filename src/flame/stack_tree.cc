#include "flame/stack_tree.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::string_view no_name = "[unknown]";
constexpr std::string_view other_name = "(other)";

/// `name`, cut to at most `most` bytes, but not within a character.
std::string_view cut(std::string_view name, std::size_t most) {
  if (name.size() <= most) return name;
  std::size_t end = most;
  while (end > 0 && most - end < 3 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace

std::size_t StackTree::ChildHash::operator()(const ChildKey& key) const {
  // The last steps of splitmix64, because the numbers are small and consecutive.
  std::uint64_t mixed = (std::uint64_t{key.parent} << 32 | key.name) +
                        (static_cast<std::uint64_t>(key.kind) << 29) +
                        (std::uint64_t{key.merged} << 28) + 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

StackTree::StackTree(WeightUnit unit, TreeLimits limits) : unit_(unit), limits_(limits) {
  limits_.nodes = std::clamp<std::size_t>(limits_.nodes, 4, nowhere);
  limits_.depth = std::max<std::size_t>(limits_.depth, 2);
  for (const std::string_view always : {std::string_view("all"), other_name, no_name}) {
    names_.emplace_back(always);
    name_numbers_.emplace(names_.back(), static_cast<std::uint32_t>(names_.size() - 1));
  }
  nodes_.emplace_back();
}

void StackTree::add(std::span<const FoldedFrame> frames, std::uint64_t weight,
                    std::uint64_t count) {
  if (weight == 0) return;
  if (weight > std::numeric_limits<std::uint64_t>::max() - total()) {
    ++merged_.refused;
    return;
  }
  const Id leaf = place(frames);
  if (nodes_[leaf].merged) {
    ++merged_.stacks;
    merged_.weight += weight;
  }
  nodes_[leaf].self += weight;
  nodes_[leaf].longest = std::max(nodes_[leaf].longest, weight);
  for (Id at = leaf;; at = nodes_[at].parent) {
    nodes_[at].weight += weight;
    nodes_[at].count += count;
    if (at == root) return;
  }
}

void StackTree::add_before(std::span<const FoldedFrame> frames, std::uint64_t weight) {
  if (weight == 0) return;
  if (weight > std::numeric_limits<std::uint64_t>::max() - nodes_[root].before) {
    ++merged_.refused;
    return;
  }
  for (Id at = place(frames);; at = nodes_[at].parent) {
    nodes_[at].before += weight;
    if (at == root) return;
  }
}

StackTree::Id StackTree::place(std::span<const FoldedFrame> frames) {
  if (frames.size() > limits_.depth) {
    ++merged_.deep;
    frames = frames.first(limits_.depth);
  }
  Id at = root, thread = root;
  const FoldedFrame no_thread{{}, FrameKind::thread};
  if (frames.empty()) frames = std::span(&no_thread, 1);
  for (const FoldedFrame& frame : frames) {
    const Id next = child(at, frame);
    if (next == root) return other(thread);
    if (at == root) thread = next;
    at = next;
  }
  return at;
}

StackTree::Id StackTree::child(Id parent, const FoldedFrame& frame) {
  if (frame.name.empty())
    return find_or_add({parent, 2, parent == root ? frame.kind : FrameKind::unknown, false}, false);
  const std::string_view name = cut(frame.name, limits_.name_bytes);
  if (name.size() < frame.name.size()) ++merged_.cut_names;
  const std::uint32_t number = name_number(name);
  return number == nowhere ? root : find_or_add({parent, number, frame.kind, false}, false);
}

StackTree::Id StackTree::other(Id parent) {
  return find_or_add({parent, 1, FrameKind::unknown, true}, true);
}

StackTree::Id StackTree::find_or_add(const ChildKey& key, bool reserved) {
  const auto found = children_.find(key);
  if (found != children_.end()) return found->second;
  // A thread takes two nodes: its own, and that of its "(other)".
  const std::size_t wanted = !reserved && key.parent == root ? 2 : 1;
  if (!reserved && nodes_.size() + reserved_ + wanted > limits_.nodes) return root;
  if (reserved)
    --reserved_;
  else
    reserved_ += wanted - 1;
  const Id id = static_cast<Id>(nodes_.size());
  Node& made = nodes_.emplace_back();
  made.parent = key.parent;
  made.name = key.name;
  made.kind = key.kind;
  made.merged = key.merged;
  made.next_sibling = nodes_[key.parent].first_child;
  nodes_[key.parent].first_child = id;
  children_.emplace(key, id);
  return id;
}

std::uint32_t StackTree::name_number(std::string_view name) {
  const auto found = name_numbers_.find(name);
  if (found != name_numbers_.end()) return found->second;
  if (name_bytes_ + name.size() > limits_.all_name_bytes || names_.size() >= limits_.nodes)
    return nowhere;
  name_bytes_ += name.size();
  names_.emplace_back(name);
  const auto number = static_cast<std::uint32_t>(names_.size() - 1);
  name_numbers_.emplace(names_.back(), number);
  return number;
}

std::uint64_t StackTree::own_count(Id id) const {
  std::uint64_t count = nodes_[id].count;
  for (Id at = nodes_[id].first_child; at != 0; at = nodes_[at].next_sibling)
    count -= nodes_[at].count;
  return count;
}

std::vector<StackTree::Id> StackTree::children(Id id) const {
  std::vector<Id> result;
  for (Id at = nodes_[id].first_child; at != 0; at = nodes_[at].next_sibling) result.push_back(at);
  std::ranges::sort(result, {}, [this](Id at) {
    return std::tuple(nodes_[at].merged, name(at), nodes_[at].kind);
  });
  return result;
}

void StackTree::visit_stacks(const Visit& visit) const {
  std::vector<Id> path;
  std::vector<std::pair<Id, std::size_t>> open{{root, 0}};  // with the depth below the root
  while (!open.empty()) {
    const auto [id, depth] = open.back();
    open.pop_back();
    path.resize(depth == 0 ? 0 : depth - 1);
    if (id != root) path.push_back(id);
    if (nodes_[id].self > 0) visit(path, nodes_[id].self);
    const std::vector<Id> below = children(id);
    for (auto child = below.rbegin(); child != below.rend(); ++child)
      open.emplace_back(*child, depth + 1);
  }
}

std::vector<FoldedStack> StackTree::stacks() const {
  std::vector<FoldedStack> result;
  visit_stacks([&](std::span<const Id> path, std::uint64_t weight) {
    FoldedStack& stack = result.emplace_back(FoldedStack{.frames = {}, .weight = weight});
    for (const Id id : path) stack.frames.push_back({std::string(name(id)), nodes_[id].kind});
  });
  return result;
}

std::vector<std::string> limit_notes(const StackTree& tree) {
  std::vector<std::string> notes;
  const StackTree::Merged& merged = tree.merged();
  if (merged.stacks > 0)
    notes.push_back(fmt::format("{}, with {}, merged into (other): too many different ones",
                                format_counted(merged.stacks, "stack"),
                                format_weight(merged.weight, tree.unit())));
  if (merged.deep > 0)
    notes.push_back(fmt::format("{} cut to the outermost frames: too deep",
                                format_counted(merged.deep, "stack")));
  if (merged.cut_names > 0)
    notes.push_back(fmt::format("{} cut: too long", format_counted(merged.cut_names, "name")));
  if (merged.refused > 0)
    notes.push_back(fmt::format("{} left out: the sum of weights is too large",
                                format_counted(merged.refused, "stack")));
  return notes;
}

}  // namespace overdue
