#pragma once

#include <string>

#include "flame/stack_tree.h"

namespace overdue {

/// The stacks as a file of speedscope (https://www.speedscope.app/file-format-schema.json): a
/// profile of type "sampled" for each thread, the heaviest first, and one for stacks without a
/// thread. Frames have names only. `title`, and names in the tree, are hostile: any bytes.
std::string speedscope_json(const StackTree& tree, std::string_view title);

}  // namespace overdue
