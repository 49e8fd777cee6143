#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/members.h"
#include "flame/stack_tree.h"

namespace overdue {

/// Weights of a function, in the unit of the tree.
struct FunctionWeight {
  std::uint64_t all = 0;   ///< of stacks that pass through the function; recursion counts once
  std::uint64_t self = 0;  ///< of stacks that end in the function
};

/// How far the shares of a function have moved.
struct FunctionChange {
  std::string name;  ///< raw
  FrameKind kind = FrameKind::user;
  FunctionWeight before, after;
  double change = 0;       ///< of the share of `all`, -1 to 1
  double self_change = 0;  ///< likewise of `self`
};

/// What `overdue flame --diff` compares, as a table: the functions whose shares have moved, the
/// largest change first. Threads are not functions.
struct FlameChanges {
  std::string files, compared_with;  ///< names; raw
  WeightUnit unit = WeightUnit::samples;
  std::uint64_t total = 0, total_before = 0;
  std::vector<FunctionChange> functions;
  std::uint64_t more = 0;  ///< functions with smaller changes, which are not in the list
  std::vector<std::string> receipt;
};

/// The changes in a tree with earlier stacks (add_before). `top`: maximum of functions; 0: all.
FlameChanges flame_changes(const StackTree& tree, std::size_t top);

/// The members of the JSON document.
void describe(Members& member, const FlameChanges& changes);
std::string to_json(const FlameChanges& changes);
/// A table for people.
std::string to_text(const FlameChanges& changes);

}  // namespace overdue
