#pragma once

#include <cstdint>

#include "symbols/elf_image.h"
#include "symbols/symbol_table.h"

namespace overdue {

/// Adds the functions of the symbol table of type SHT_SYMTAB or SHT_DYNSYM, with `bias` added to
/// their addresses, and returns their number. Functions are symbols of type FUNC and GNU_IFUNC, and
/// symbols of no type in executable sections (assembly). Versions ("@@GLIBC_2.34") are cut off. A
/// string table of more than `max_string_bytes` bytes is not read.
std::size_t add_functions(const ElfImage& image, std::uint32_t table_type, std::uint64_t bias,
                          std::uint64_t max_string_bytes, SymbolTableBuilder& builder);

/// Adds `name@plt` for each stub of .plt, .plt.sec and .plt.got. The slot of the global offset
/// table that a stub jumps through gives the name, so the linker's layout does not matter. For
/// x86-64 and arm64.
void add_plt_stubs(const ElfImage& image, SymbolTableBuilder& builder);

}  // namespace overdue
