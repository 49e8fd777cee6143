#pragma once

#include <cstdint>

#include "symbols/elf_image.h"
#include "symbols/symbol_table.h"

namespace overdue {

/// Adds the functions of the symbol table of type SHT_SYMTAB or SHT_DYNSYM, `bias` bytes further
/// on, and returns how many those were. What counts as one: symbols of type FUNC and GNU_IFUNC, and
/// those of no type in executable sections (assembly). Versions ("@@GLIBC_2.34") are cut off. A
/// string table of more than `most_string_bytes` is not read.
std::size_t add_functions(const ElfImage& image, std::uint32_t table_type, std::uint64_t bias,
                          std::uint64_t most_string_bytes, SymbolTableBuilder& builder);

/// Adds `name@plt` for each stub of .plt, .plt.sec and .plt.got, by the slot of the global offset
/// table that the stub jumps through, so whichever linker laid them out. x86-64 and arm64.
void add_plt_stubs(const ElfImage& image, SymbolTableBuilder& builder);

}  // namespace overdue
