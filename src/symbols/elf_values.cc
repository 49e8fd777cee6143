#include "symbols/elf_values.h"

#include <algorithm>
#include <vector>

namespace overdue {
namespace {

constexpr std::uint64_t most_values = 1u << 20;
constexpr std::uint64_t max_string_bytes = 64u << 20;
constexpr std::uint64_t values_batch = 4096;

using Values = std::map<std::string, ElfValue, std::less<>>;

void add_values(const ElfImage& image, const Elf64_Shdr& table,
                std::span<const std::string_view> names, Values& values) {
  if (table.sh_link >= image.sections().size()) return;
  const Elf64_Shdr& strings_at = image.sections()[table.sh_link];
  const auto strings =
      image.bytes().read(strings_at.sh_offset, strings_at.sh_size, max_string_bytes);
  if (!strings || strings_at.sh_type != SHT_STRTAB) return;
  const std::uint64_t count = std::min(table.sh_size / sizeof(Elf64_Sym), most_values);
  std::vector<Elf64_Sym> symbols;
  for (std::uint64_t at = 0; at < count; at += symbols.size()) {
    symbols.resize(std::min(values_batch, count - at));
    if (!image.bytes().read(table.sh_offset + at * sizeof(Elf64_Sym),
                            std::as_writable_bytes(std::span(symbols))))
      return;
    for (const Elf64_Sym& symbol : symbols) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
      const std::string_view name = string_at(*strings, symbol.st_name);
      if (std::ranges::find(names, name) != names.end())
        values.try_emplace(std::string(name),
                           ElfValue{.address = symbol.st_value, .size = symbol.st_size});
    }
  }
}

}  // namespace

Values elf_values(const ElfImage& image, std::span<const std::string_view> names) {
  Values values;
  if (!image.is_64bit()) return values;
  for (const std::uint32_t type : {std::uint32_t{SHT_DYNSYM}, std::uint32_t{SHT_SYMTAB}}) {
    if (values.size() >= names.size()) break;
    if (const Elf64_Shdr* table = image.section_of_type(type))
      add_values(image, *table, names, values);
  }
  return values;
}

}  // namespace overdue
