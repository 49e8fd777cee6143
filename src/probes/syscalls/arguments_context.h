#pragma once

#include <array>
#include <cstdint>

#include "probes/syscalls/signatures.h"

namespace overdue {

using Registers = std::array<std::uint64_t, SYSCALL_ARGUMENTS>;

/// What argument `index` is in this very call, where that depends on the others: fcntl's third by
/// its command, setsockopt's option by its level, … Kind `none`: the kernel does not look at it.
/// Any other argument comes back as it is.
Argument argument_in_context(const Argument& argument, unsigned index, const Registers& registers);

}  // namespace overdue
