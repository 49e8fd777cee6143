#pragma once

#include <cstdint>
#include <vector>

#include "flame/stack_tree.h"

namespace overdue {

/// One frame to be drawn.
struct Box {
  StackTree::Id node = 0;
  std::uint32_t depth = 0;  ///< 0: the root
  std::uint64_t start = 0;  ///< weight to its left
  /// Number of descendants that are not drawn: children that are too narrow, and their subtrees.
  std::uint64_t too_narrow = 0;
};

/// The part of a tree that a drawing shows.
struct Layout {
  std::vector<Box> boxes;               ///< parents before children, left before right
  std::uint32_t depth = 0;              ///< depth of the deepest box
  std::uint64_t too_narrow = 0;         ///< nodes not drawn
  std::uint64_t too_narrow_weight = 0;  ///< total weight of these nodes
  std::uint64_t gone = 0;  ///< nodes of the earlier measurement only, which have no width
};

/// Lays out `tree`. Nodes lighter than `least_weight` are counted and left out, with their
/// subtrees.
Layout lay_out(const StackTree& tree, double least_weight);

}  // namespace overdue
