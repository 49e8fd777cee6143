#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bpf/span.h"
#include "core/user_copy.h"

namespace overdue {

/// A thread's registers and a copy of its stack in a record.
struct UserSide {
  user_registers registers{};  ///< zero in a recording, which has frames instead
  UserCopy copy;
};

/// The user side at `at` in a record with these `flags` and `user_bytes`. Nothing if the record has
/// no user side, or is cut off before the stack.
std::optional<UserSide> user_side_at(std::span<const std::byte> bytes, std::size_t at,
                                     std::uint16_t flags, std::uint16_t user_bytes);

}  // namespace overdue
