#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "bpf/syscalls.h"

namespace overdue {

/// Turns the registers of a system call into text: `flags=O_RDONLY|O_CLOEXEC`,
/// `pathname="/etc/passwd"`, `fd=3`. Arguments have the names of the manual pages. Flags and other
/// symbols appear by name, values without a name in hexadecimal, sizes and descriptors in decimal,
/// modes in octal, pointers in hexadecimal or as NULL. Arguments that the kernel ignores (open's
/// mode without O_CREAT) are left out. A call that is not in the tables shows all six registers as
/// `arg0=0x…`. Strings that the kernel side copied are in quotes with C-like escapes, followed by
/// `…` if they were cut; pointers that could not be followed stay pointers. Reads only its
/// arguments, which may be hostile.
///
/// Not thread-safe. Keep one decoder and reuse it: after a few calls it allocates nothing.
class ArgumentDecoder {
 public:
  /// One view per argument shown, valid until the next call. `text` is what follows the struct in
  /// the record; at most `call.text_size` bytes of it are read, and none beyond its end.
  std::span<const std::string_view> decode(const syscall_call& call,
                                           std::span<const std::byte> text);

 private:
  std::string buffer_;
  std::array<std::string_view, SYSCALL_ARGUMENTS> views_;
};

}  // namespace overdue
