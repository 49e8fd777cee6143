#pragma once

#include <cstdint>
#include <string_view>

#include "bpf/syscalls.h"
#include "syscalls/arguments_symbols.h"

namespace overdue {

/// How an argument is read. The kinds from `open_mode` on depend on other arguments of the call.
enum class ArgumentKind : std::uint8_t {
  none,
  symbols,        ///< see Argument::values
  signed_int,     ///< 32 bits, decimal
  unsigned_int,   ///< 32 bits, decimal
  signed_long,    ///< register-wide, decimal
  unsigned_long,  ///< register-wide, decimal
  size,           ///< bytes or elements, decimal
  offset,         ///< in a file, signed
  hex,            ///< register-wide
  hex32,
  address,  ///< hexadecimal, or NULL
  fd,
  dirfd,      ///< AT_FDCWD by name
  path,       ///< input string
  text,       ///< input string that is no path
  mode,       ///< permissions, octal
  file_mode,  ///< type and permissions
  device,     ///< major:minor
  pid,
  id,  ///< user or group; -1: leave as it is
  signal_number,
  ipc_get_flags,  ///< flags and permissions
  clone_flags,    ///< flags and a signal
  open_mode,      ///< only if the flags before it create a file
  fcntl_argument,
  futex_operation,
  futex_timeout,
  futex_address2,
  futex_value3,
  prctl_argument,
  remap_address,          ///< only if mremap's flags ask for it
  bpf_common_attributes,  ///< only if bpf's command has them
  bpf_common_size,
  socket_protocol,
  socket_option_of_level,
};

struct Argument {
  constexpr Argument() = default;
  constexpr Argument(std::string_view argument_name, ArgumentKind argument_kind)
      : name(argument_name), kind(argument_kind) {}
  constexpr Argument(std::string_view argument_name, const Symbols& argument_values)
      : name(argument_name), kind(ArgumentKind::symbols), values(&argument_values) {}

  std::string_view name;
  ArgumentKind kind = ArgumentKind::none;
  const Symbols* values = nullptr;
};

/// The meaning of a system call's registers. Arguments have the names of the manual pages; unused
/// ones are at the end.
struct Signature {
  std::string_view name;
  Argument arguments[SYSCALL_ARGUMENTS];

  constexpr unsigned argument_count() const {
    unsigned count = 0;
    while (count < SYSCALL_ARGUMENTS && arguments[count].kind != ArgumentKind::none) ++count;
    return count;
  }
};

/// The signature of a call, or null for a number that is not in the tables. Static storage;
/// thread-safe.
const Signature* find_signature(std::uint16_t abi, std::uint32_t nr);

/// The arguments that the kernel side copies: bit i for an input string in argument i; at most
/// SYSCALL_TEXTS bits. 0 for unknown calls.
std::uint8_t text_argument_mask(std::uint16_t abi, std::uint32_t nr);

}  // namespace overdue
