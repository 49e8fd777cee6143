#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "probes/pairs/plan_writer.h"

namespace overdue {

/// Where an argument of a USDT probe is when a thread passes the probe.
struct UsdtArgument {
  enum class Kind {
    constant,
    in_register,
    in_memory,  ///< at register + index * scale + displacement
    elsewhere,  ///< in a place that cannot be read: a vector register, or relative to a symbol
  };
  Kind kind = Kind::elsewhere;
  std::uint32_t size = 8;  ///< bytes: 1, 2, 4 or 8
  bool is_signed = false;
  std::int64_t number = 0;                ///< the constant, or the displacement
  std::size_t base = 0;                   ///< offset of the register in pt_regs
  std::optional<std::size_t> index = {};  ///< … of the index register
  unsigned scale_bits = 0;                ///< the index is shifted left by this many bits
};

/// Parses the arguments that the compiler has left in a probe's note, in the assembler's syntax:
/// "-4@%eax 8@$5 8@-16(%rbp,%rcx,4)". x86-64. The text is hostile: an argument that makes no sense
/// is `elsewhere`. At most 12 arguments, the limit of <sys/sdt.h>.
std::vector<UsdtArgument> parse_usdt_arguments(std::string_view text);

/// Writes the steps that push the argument as a number of 64 bits, whatever its size. False if the
/// argument is `elsewhere`. For `at` see PlanWriter.
bool push_usdt_argument(PlanWriter& steps, const UsdtArgument& argument, std::size_t at);

}  // namespace overdue
