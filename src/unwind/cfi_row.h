#pragma once

#include <array>
#include <cstdint>

#include "unwind/registers.h"

namespace overdue {

/// Where a register of the caller is, or what the canonical frame address (CFA, the stack pointer
/// before the call) is. Small: rows are cached.
struct CfiRule {
  enum class Kind : std::uint8_t {
    unspecified,    ///< the ABI's: callee-saved registers are unchanged, the others lost
    same,           ///< unchanged
    undefined,      ///< lost; for the return address: there is no caller
    at_offset,      ///< in memory at CFA + value
    offset,         ///< it is CFA + value
    in_register,    ///< it is what `base` holds, plus value (the CFA's only kind but expression)
    at_expression,  ///< in memory at what the expression gives
    expression,     ///< it is what the expression gives
  };
  Kind kind = Kind::unspecified;
  Register base = Register::rax;
  std::uint16_t size = 0;  ///< of the expression
  std::int32_t value = 0;  ///< an offset in bytes; of an expression: where it is in its table

  friend bool operator==(const CfiRule&, const CfiRule&) = default;
};

/// What CFI says for the addresses from `begin` to `end`, as the file numbers them.
struct CfiRow {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  CfiRule cfa;
  std::array<CfiRule, register_count> rules;
  Register return_address = Register::rip;  ///< the register whose rule finds it
  bool is_signal_frame = false;             ///< the caller was interrupted rather than made a call

  CfiRule& rule(Register which) { return rules[static_cast<std::size_t>(which)]; }
  const CfiRule& rule(Register which) const { return rules[static_cast<std::size_t>(which)]; }
};

}  // namespace overdue
