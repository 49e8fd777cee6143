#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "resolve/python_layout.h"

namespace overdue {

/// A function of Python, as its code object describes it. All text is printable.
struct PythonCode {
  std::string name;  ///< qualified: "Server.handle.<locals>.reply"
  std::string file;
  std::uint32_t first_line = 0;
  std::vector<std::byte> lines{};  ///< CPython's location table; empty: too long, or unreadable
  std::uint64_t name_at = 0;       ///< address of the name's string
  std::uint64_t instructions = 0;  ///< address

  bool operator==(const PythonCode&) const = default;
};

/// Reads the code object at `address` of a process whose memory is hostile. Nothing unless the
/// object and its strings have the types of CPython's.
std::optional<PythonCode> read_python_code(const PythonLayout& layout, std::uint64_t address,
                                           const ReadMemory& memory);

/// The line of the instruction `offset` bytes behind the first, by a location table of 3.11 or
/// later; 0: unknown. The table is hostile.
std::uint32_t python_line(std::span<const std::byte> table, std::uint32_t first_line,
                          std::uint64_t offset);

}  // namespace overdue
