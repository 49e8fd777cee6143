#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bpf/span.h"

namespace overdue {

/// A thread's registers and a copy of its stack, as a record has them; views into the record.
struct UserSide {
  user_registers registers{};        ///< zero in a recording, where the frames are known
  std::span<const std::byte> stack;  ///< from registers.rsp - USER_RED_ZONE upwards
};

/// What stands at `at` in a record with these of its fields; nothing where it has no user side, or
/// is cut off.
std::optional<UserSide> user_side_at(std::span<const std::byte> bytes, std::size_t at,
                                     std::uint16_t flags, std::uint16_t user_bytes);

}  // namespace overdue
