#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "syscalls/arguments_symbols.h"

namespace overdue {

// The pieces that arguments.cc writes values with. All append to `out`; none allocates once `out`
// has grown to its size. (An out-parameter against rule 12: half a million calls a second leave no
// time for a string each.)

void append_signed(std::string& out, std::int64_t value);
void append_unsigned(std::string& out, std::uint64_t value);
void append_hex(std::string& out, std::uint64_t value);      ///< "0x1f"; zero is "0"
void append_octal(std::string& out, std::uint64_t value);    ///< "0644"; zero is "0"
void append_address(std::string& out, std::uint64_t value);  ///< "0x7ffc0010" or "NULL"

/// `text` in double quotes with C-like escapes (\n, \", \\, \x1b); valid UTF-8 stays. `truncated`:
/// "…" follows the quote.
void append_quoted(std::string& out, std::string_view text, bool truncated);

/// The names of `value`, joined by `|`; the part without a name in hexadecimal.
void append_symbols(std::string& out, const Symbols& symbols, std::uint64_t value);

/// "SIGTERM", "SIGRT_3"; anything else as a number.
void append_signal(std::string& out, std::uint64_t value);

/// "S_IFREG|0644".
void append_file_mode(std::string& out, std::uint64_t value);

/// clone's flags: CLONE_… and, in the low byte, the signal that the child sends when it ends.
void append_clone_flags(std::string& out, std::uint64_t value);

/// "FUTEX_WAIT_PRIVATE|FUTEX_CLOCK_REALTIME".
void append_futex_operation(std::string& out, std::uint64_t value);

}  // namespace overdue
