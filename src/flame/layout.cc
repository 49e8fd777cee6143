#include "flame/layout.h"

#include <algorithm>

namespace overdue {
namespace {

struct Counted {
  std::uint64_t with_weight = 0, gone = 0;
};

/// The nodes of the subtree of `top`.
Counted count_nodes(const StackTree& tree, StackTree::Id top) {
  Counted counted;
  std::vector<StackTree::Id> open{top};
  while (!open.empty()) {
    const StackTree::Node& node = tree.node(open.back());
    open.pop_back();
    ++(node.weight > 0 ? counted.with_weight : counted.gone);
    for (StackTree::Id at = node.first_child; at != 0; at = tree.node(at).next_sibling)
      open.push_back(at);
  }
  return counted;
}

}  // namespace

Layout lay_out(const StackTree& tree, double least_weight) {
  Layout layout;
  std::vector<Box> open{{.node = StackTree::root}};
  std::vector<Box> children;
  while (!open.empty()) {
    Box box = open.back();
    open.pop_back();
    layout.depth = std::max(layout.depth, box.depth);
    std::uint64_t start = box.start;
    children.clear();
    for (const StackTree::Id child : tree.children(box.node)) {
      const std::uint64_t weight = tree.node(child).weight;
      if (weight == 0 || static_cast<double>(weight) < least_weight) {
        const Counted counted = count_nodes(tree, child);
        box.too_narrow += counted.with_weight;
        layout.too_narrow += counted.with_weight;
        layout.too_narrow_weight += weight;
        layout.gone += counted.gone;
      } else {
        children.push_back({.node = child, .depth = box.depth + 1, .start = start});
      }
      start += weight;
    }
    open.insert(open.end(), children.rbegin(), children.rend());
    layout.boxes.push_back(box);
  }
  return layout;
}

}  // namespace overdue
