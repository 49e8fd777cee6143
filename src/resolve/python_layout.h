#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bpf/python.h"
#include "resolve/read_memory.h"
#include "symbols/file_bytes.h"
#include "symbols/process_maps.h"

namespace overdue {

/// Why the Python frames of a process cannot be read. Append only: sent between processes.
enum class PythonSupport : std::uint8_t {
  none,  ///< no interpreter
  yes,
  version,  ///< a version of CPython without a known layout
  free_threaded,
  unreadable,  ///< memory or file cannot be read
};
constexpr auto last_python_support = PythonSupport::unreadable;

/// Where CPython is in a process, and how its structs are laid out.
struct PythonLayout {
  python_runtime runtime{};
  std::uint64_t code_type = 0, unicode_type = 0, bytes_type = 0;  ///< addresses
  // Bytes into code objects.
  std::uint16_t filename = 0, qualname = 0, line_table = 0, first_line = 0, instructions = 0;
  std::uint16_t string_data = 0;  ///< bytes into a string of ASCII characters
};

/// Whether the mapping may be that of CPython: a program or a shared library named so.
bool may_be_python(const Mapping& mapping);

struct FoundPython {
  PythonSupport support = PythonSupport::none;
  PythonLayout layout{};
};

/// Looks for CPython 3.11 or later in `file`, which `mapping` maps. File and memory are hostile.
FoundPython find_python(const Mapping& mapping, const FileBytes& file, const ReadMemory& memory);

}  // namespace overdue
