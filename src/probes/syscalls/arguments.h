#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "probes/syscalls/syscalls.h"

namespace overdue {

/// Turns the registers of a system call into text: `flags=O_RDONLY|O_CLOEXEC`,
/// `pathname="/etc/passwd"`, `fd=3`. Names are the manual pages'. Flags and other symbols by name,
/// what has no name in hexadecimal, sizes and descriptors in decimal, modes in octal, pointers in
/// hexadecimal or NULL. Arguments the kernel does not look at (open's mode without O_CREAT) are
/// left out. Of a call our tables do not have, all six registers are shown as `arg0=0x…`. Strings
/// the kernel side copied stand in quotes with C-like escapes, `…` behind those it cut; pointers it
/// could not follow stay pointers. Reads nothing but what it is given, which may be hostile.
///
/// Not thread-safe; keep one and reuse it: after a few calls it allocates nothing.
class ArgumentDecoder {
 public:
  /// One view per argument shown, valid until the next call. `text` is what stands behind the
  /// struct in the record; at most `call.text_size` bytes of it are read, and none beyond its end.
  std::span<const std::string_view> decode(const syscall_call& call,
                                           std::span<const std::byte> text);

 private:
  std::string buffer_;
  std::array<std::string_view, SYSCALL_ARGUMENTS> views_;
};

}  // namespace overdue
