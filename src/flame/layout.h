#pragma once

#include <cstdint>
#include <vector>

#include "flame/stack_tree.h"

namespace overdue {

/// One frame to be drawn.
struct Box {
  StackTree::Id node = 0;
  std::uint32_t depth = 0;       ///< 0: the root
  std::uint64_t start = 0;       ///< weight left of it
  std::uint64_t too_narrow = 0;  ///< nodes right above it, and above those, that are not drawn
};

/// What a drawing shows of a tree.
struct Layout {
  std::vector<Box> boxes;               ///< parents before children, left before right
  std::uint32_t depth = 0;              ///< of the deepest box
  std::uint64_t too_narrow = 0;         ///< nodes not drawn
  std::uint64_t too_narrow_weight = 0;  ///< which all of them together hold
  std::uint64_t gone = 0;               ///< nodes of the earlier measurement only: no width at all
};

/// Lays out `tree`; what is lighter than `least_weight` is counted and left out, with all above it.
Layout lay_out(const StackTree& tree, double least_weight);

}  // namespace overdue
