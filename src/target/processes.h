#pragma once

#include <cstdint>
#include <vector>

#include "target/selection.h"

namespace overdue {

/// The processes of the target that run already, ascending; of cgroups, at most 16384 each. None if
/// the target is a program that has not started. Throws Error as resolve_target().
std::vector<std::uint32_t> running_processes(const TargetSelection& selection);

}  // namespace overdue
