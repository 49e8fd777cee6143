#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flame/frame.h"

namespace overdue {

/// Limits beyond which a StackTree merges.
struct TreeLimits {
  std::size_t nodes = 1'000'000;           ///< all nodes, including the root and each "(other)"
  std::size_t depth = 1024;                ///< frames of a stack, the thread included
  std::size_t name_bytes = 4096;           ///< bytes of one name
  std::size_t all_name_bytes = 256 << 20;  ///< bytes of all different names
};

/// Weighted stacks, merged as far as they begin alike: root, thread, frames outermost first.
/// Weights are exact, and memory stays within the limits: a stack that does not fit keeps its
/// weight in a node "(other)" below its thread, and is counted. The order of nodes depends only on
/// the stacks, not on the order of add(), unless a limit was reached.
class StackTree {
 public:
  using Id = std::uint32_t;
  static constexpr Id root = 0;

  struct Node {
    std::uint64_t weight = 0;   ///< weight of the stacks that pass through or end here
    std::uint64_t self = 0;     ///< weight of the stacks that end here
    std::uint64_t before = 0;   ///< weight of the earlier stacks here (add_before)
    std::uint64_t count = 0;    ///< number of stacks in `weight`
    std::uint64_t longest = 0;  ///< largest weight of one add() that ends here
    Id parent = 0;
    Id first_child = 0;  ///< 0: none (the root is never a child)
    Id next_sibling = 0;
    std::uint32_t name = 0;
    FrameKind kind = FrameKind::thread;
    bool merged = false;  ///< an "(other)" of the tree itself, not a function of that name
  };

  /// Stacks that are not in the tree unchanged.
  struct Merged {
    std::uint64_t stacks = 0;  ///< stacks in an "(other)"
    std::uint64_t weight = 0;
    std::uint64_t deep = 0;       ///< stacks cut at `depth`
    std::uint64_t cut_names = 0;  ///< frames whose name was cut at `name_bytes`
    std::uint64_t refused = 0;    ///< stacks that would take the sum of all weights past 2^64
  };

  explicit StackTree(WeightUnit unit = WeightUnit::samples, TreeLimits limits = {});

  /// Adds a stack that was seen `count` times, with `weight` in total. A stack without weight is
  /// left out. A frame without a name gets the name "[unknown]".
  void add(std::span<const FoldedFrame> frames, std::uint64_t weight, std::uint64_t count = 1);
  /// Adds a stack of an earlier measurement, for comparison.
  void add_before(std::span<const FoldedFrame> frames, std::uint64_t weight);

  WeightUnit unit() const { return unit_; }
  std::uint64_t total() const { return nodes_[root].weight; }
  std::size_t size() const { return nodes_.size(); }
  const Merged& merged() const { return merged_; }
  const Node& node(Id id) const { return nodes_[id]; }
  std::string_view name(Id id) const { return names_[nodes_[id].name]; }
  /// The number of stacks that end in the node.
  std::uint64_t own_count(Id id) const;
  /// Sorted by name, then kind; an "(other)" is last.
  std::vector<Id> children(Id id) const;
  /// Calls `visit` for every stack with a weight of its own, in the order of the nodes. `path`:
  /// its nodes, the thread first; empty for the weight of the root itself.
  using Visit = std::function<void(std::span<const Id> path, std::uint64_t weight)>;
  void visit_stacks(const Visit& visit) const;
  /// The same stacks, as copies.
  std::vector<FoldedStack> stacks() const;

 private:
  struct ChildKey {
    Id parent;
    std::uint32_t name;
    FrameKind kind;
    bool merged;
    bool operator==(const ChildKey&) const = default;
  };
  struct ChildHash {
    std::size_t operator()(const ChildKey& key) const;
  };

  Id place(std::span<const FoldedFrame> frames);
  Id child(Id parent, const FoldedFrame& frame);
  Id other(Id parent);
  Id find_or_add(const ChildKey& key, bool reserved);
  /// The number of the name; `nowhere` if there is no room for it.
  std::uint32_t name_number(std::string_view name);
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  WeightUnit unit_;
  TreeLimits limits_;
  std::vector<Node> nodes_;
  std::size_t reserved_ = 1;  ///< nodes kept free for an "(other)" of the root and of each thread
  std::deque<std::string> names_;
  std::size_t name_bytes_ = 0;
  // Sorted, not hashed: names are hostile, and can be made to collide.
  std::map<std::string_view, std::uint32_t> name_numbers_;
  std::unordered_map<ChildKey, Id, ChildHash> children_;
  Merged merged_;
};

/// A sentence for each limit of the tree that was reached.
std::vector<std::string> limit_notes(const StackTree& tree);

}  // namespace overdue
