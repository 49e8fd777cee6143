#pragma once

#include <array>
#include <cstdint>

#include "syscalls/signatures.h"

namespace overdue {

using Registers = std::array<std::uint64_t, SYSCALL_ARGUMENTS>;

/// The meaning of argument `index` in this very call, if it depends on the others: fcntl's third
/// argument on its command, setsockopt's option on its level, … Kind `none`: the kernel ignores the
/// argument. Any other argument is returned as it is.
Argument argument_in_context(const Argument& argument, unsigned index, const Registers& registers);

}  // namespace overdue
