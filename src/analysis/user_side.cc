#include "analysis/user_side.h"

#include <cstring>

namespace overdue {

std::optional<UserSide> user_side_at(std::span<const std::byte> bytes, std::size_t at,
                                     std::uint16_t flags, std::uint16_t user_bytes) {
  const std::size_t before_stack = flags & SPAN_STACK_NAMED ? 0 : sizeof(user_registers);
  if (!(flags & SPAN_HAS_USER_STACK) || bytes.size() < at || bytes.size() - at < before_stack)
    return std::nullopt;
  UserSide side;
  if (before_stack > 0) std::memcpy(&side.registers, bytes.data() + at, before_stack);
  side.copy = user_copy_at(bytes, at + before_stack, flags, user_bytes);
  return side;
}

}  // namespace overdue
