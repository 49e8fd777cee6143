#pragma once

#include <string>

#include "flame/stack_tree.h"

namespace overdue {

/// The stacks as a profile of pprof (profile.proto of github.com/google/pprof), compressed. The
/// thread of a stack is the label "thread" of its sample; frames have names only, and those of the
/// kernel are in the mapping "[kernel]". `title`, `footer` (lines; both become comments) and names
/// in the tree are hostile: any bytes. Throws Error if the sum of weights is 2^63 or more, which
/// the format cannot hold.
std::string pprof_gzip(const StackTree& tree, std::string_view title, std::string_view footer);

}  // namespace overdue
