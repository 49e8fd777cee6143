#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/stack_snapshot.h"

namespace overdue {

/// What a DWARF expression of CFI computes, begun with `first` on its stack (the CFA, for rules of
/// registers). Bounded in steps and depth; nothing where it asks for what is not known or makes no
/// sense.
std::optional<std::uint64_t> evaluate(std::span<const std::byte> expression,
                                      const Registers& registers, const StackCopy& stack,
                                      std::optional<std::uint64_t> first);

}  // namespace overdue
