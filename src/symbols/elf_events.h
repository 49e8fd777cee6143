#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/file_bytes.h"

namespace overdue {

/// Where a function of an ELF file begins.
struct FunctionPlaces {
  /// Offsets in the file, in ascending order. Several where static functions share a name.
  std::vector<std::uint64_t> offsets;
  std::string nearest;  ///< a name like it, where there is none of this name
  bool is_elf = false;
  bool has_names = false;  ///< whether the file has names of functions at all
};

/// Looks for `name` as the symbol tables have it (mangled, without a version) or demangled up to
/// its parameters ("ns::Type::call"). The bytes are hostile: what is damaged is left out. Separate
/// debug files are not looked into.
FunctionPlaces find_function(const FileBytes& bytes, std::string_view name);

/// A statically defined probe (<sys/sdt.h>).
struct UsdtProbe {
  std::string provider;
  std::string name;
  bool operator==(const UsdtProbe&) const = default;
};
/// Each once, in the order of the file; at most 4096.
std::vector<UsdtProbe> usdt_probes(const FileBytes& bytes);

}  // namespace overdue
