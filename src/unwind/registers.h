#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace overdue {

/// Registers of x86-64, by their DWARF numbers.
enum class Register : std::uint8_t {
  rax,
  rdx,
  rcx,
  rbx,
  rsi,
  rdi,
  rbp,
  rsp,  // clang-format off
  r8, r9, r10, r11, r12, r13, r14, r15, rip,  // clang-format on
};
constexpr std::size_t register_count = 17;

/// The registers of a frame, as far as they are known.
class Registers {
 public:
  std::optional<std::uint64_t> get(Register which) const {
    if (!has(which)) return std::nullopt;
    return values_[static_cast<std::size_t>(which)];
  }
  bool has(Register which) const { return (known_ >> static_cast<unsigned>(which) & 1) != 0; }
  void set(Register which, std::uint64_t value) {
    values_[static_cast<std::size_t>(which)] = value;
    known_ |= 1u << static_cast<unsigned>(which);
  }
  void forget(Register which) { known_ &= ~(1u << static_cast<unsigned>(which)); }

 private:
  std::array<std::uint64_t, register_count> values_{};
  std::uint32_t known_ = 0;
};

}  // namespace overdue
