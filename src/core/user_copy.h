#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace overdue {

/// What a record has of a thread's user side besides the registers. Views into the record.
struct UserCopy {
  UserCopy() = default;
  // NOLINTBEGIN(google-explicit-constructor): memory alone is a copy without Python's frames
  UserCopy(std::span<const std::byte> memory, std::span<const std::byte> frames = {})
      : stack(memory), python(frames) {}
  UserCopy(const std::vector<std::byte>& memory) : stack(memory) {}
  // NOLINTEND(google-explicit-constructor)

  std::span<const std::byte> stack;   ///< from registers.rsp - USER_RED_ZONE upwards
  std::span<const std::byte> python;  ///< a struct python_stack and its frames; empty: none
};

/// The copy at `at` in a record with these `flags` (enum span_flags) and `user_bytes`. Parts beyond
/// the end of the record are left out.
UserCopy user_copy_at(std::span<const std::byte> bytes, std::size_t at, std::uint16_t flags,
                      std::uint16_t user_bytes);

}  // namespace overdue
