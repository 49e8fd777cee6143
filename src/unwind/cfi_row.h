#pragma once

#include <array>
#include <cstdint>

#include "unwind/registers.h"

namespace overdue {

/// The rule for a register of the caller, or for the canonical frame address (CFA, the stack
/// pointer before the call). Small, because rows are cached.
struct CfiRule {
  enum class Kind : std::uint8_t {
    unspecified,    ///< as in the ABI: callee-saved registers are unchanged, the others lost
    same,           ///< unchanged
    undefined,      ///< lost; for the return address: there is no caller
    at_offset,      ///< in memory at CFA + value
    offset,         ///< equal to CFA + value
    in_register,    ///< content of `base` + value (for the CFA, the only kind besides expression)
    at_expression,  ///< in memory at the result of the expression
    expression,     ///< equal to the result of the expression
  };
  Kind kind = Kind::unspecified;
  Register base = Register::rax;
  std::uint16_t size = 0;  ///< of the expression, in bytes
  std::int32_t value = 0;  ///< offset in bytes; for an expression, its place in the table's section

  friend bool operator==(const CfiRule&, const CfiRule&) = default;
};

/// The CFI for the addresses from `begin` to `end`, as the file numbers them.
struct CfiRow {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  CfiRule cfa;
  std::array<CfiRule, register_count> rules;
  Register return_address = Register::rip;  ///< the register whose rule gives the return address
  bool is_signal_frame = false;             ///< the caller was interrupted; it made no call

  CfiRule& rule(Register which) { return rules[static_cast<std::size_t>(which)]; }
  const CfiRule& rule(Register which) const { return rules[static_cast<std::size_t>(which)]; }
};

}  // namespace overdue
