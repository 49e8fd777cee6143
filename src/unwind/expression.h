#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/stack_snapshot.h"

namespace overdue {

/// Evaluates a DWARF expression of CFI that begins with `first` on its stack (the CFA, for rules of
/// registers). Bounded in steps and depth. Nothing if the expression is malformed or needs unknown
/// registers or memory.
std::optional<std::uint64_t> evaluate(std::span<const std::byte> expression,
                                      const Registers& registers, const StackCopy& stack,
                                      std::optional<std::uint64_t> first);

}  // namespace overdue
