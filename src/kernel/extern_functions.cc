#include "kernel/extern_functions.h"

#include <bpf/btf.h>
#include <elf.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "kernel/tracepoint_types.h"

namespace overdue {

std::vector<const char*> weak_functions(std::span<const std::byte> file, const btf* types_of_file) {
  std::vector<const char*> names;
  const std::byte* const begin = file.data();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(begin);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(begin + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(begin + sections[i].sh_offset);
    const auto* strings =
        reinterpret_cast<const char*>(begin + sections[sections[i].sh_link].sh_offset);
    for (std::size_t n = 0; n < sections[i].sh_size / sizeof(Elf64_Sym); ++n) {
      const char* const name = strings + symbols[n].st_name;
      if (symbols[n].st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbols[n].st_info) == STB_WEAK &&
          btf__find_by_name_kind(types_of_file, name, BTF_KIND_FUNC) >= 0)
        names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> functions_unlike(std::span<const char* const> functions,
                                          const btf* types_of_file, const TracepointTypes& types) {
  std::vector<std::string> unlike;
  for (const char* name : functions)
    if (types.has_function(name) && !types.has_function_like(types_of_file, name))
      unlike.emplace_back(name);
  return unlike;
}

std::vector<std::byte> without_functions(std::span<const std::byte> file,
                                         std::span<const std::string> functions) {
  constexpr std::size_t tables = 2;  // string tables of the ELF symbols and of the BTF
  std::vector<std::byte> bytes(file.begin(), file.end());
  for (const std::string& function : functions) {
    // A name is between two zeros. Its new first letter is valid in a C identifier.
    const std::string text = '\0' + function + '\0';
    const auto wanted = std::as_bytes(std::span(text));
    std::size_t found = 0;
    for (auto at = bytes.begin();; ++at) {
      at = std::search(at, bytes.end(), wanted.begin(), wanted.end());
      if (at == bytes.end()) break;
      *(at + 1) = std::byte{'_'};
      ++found;
    }
    if (found < tables)
      throw Error("cannot do without the kernel's function {}: its name is not found", function);
  }
  return bytes;
}

}  // namespace overdue
