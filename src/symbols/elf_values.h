#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "symbols/elf_image.h"

namespace overdue {

/// A symbol of data or code.
struct ElfValue {
  std::uint64_t address = 0;  ///< virtual, as nm prints it
  std::uint64_t size = 0;
};

/// The defined symbols of a 64-bit file that have one of `names`: of .dynsym, and of .symtab for
/// names that .dynsym does not have. The bytes are hostile.
std::map<std::string, ElfValue, std::less<>> elf_values(const ElfImage& image,
                                                        std::span<const std::string_view> names);

}  // namespace overdue
