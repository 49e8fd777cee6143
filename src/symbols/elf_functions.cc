#include "symbols/elf_functions.h"

#include <algorithm>
#include <limits>

namespace overdue {
namespace {

constexpr std::size_t symbol_batch = 1024;
constexpr std::uint64_t max_symbols_read = 16u << 20;

Elf64_Sym widened(const Elf64_Sym& symbol) {
  return symbol;
}
Elf64_Sym widened(const Elf32_Sym& symbol) {
  return {.st_name = symbol.st_name,
          .st_info = symbol.st_info,
          .st_other = symbol.st_other,
          .st_shndx = symbol.st_shndx,
          .st_value = symbol.st_value,
          .st_size = symbol.st_size};
}

/// Turns symbols of one table into functions.
class FunctionReader {
 public:
  FunctionReader(const ElfImage& image, std::uint64_t bias, const std::vector<std::byte>& strings,
                 SymbolTableBuilder& builder)
      : image_(image), bias_(bias), strings_(strings), builder_(builder) {}

  void symbol(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if ((!is_function && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF) return;
    const std::uint64_t end = code_end(symbol);
    if (end <= symbol.st_value) return;
    std::string_view name = string_at(strings_, symbol.st_name);
    if (const std::size_t version = name.find('@'); version != 0) name = name.substr(0, version);
    if (!is_function && is_mark(name)) return;
    if (name.empty()) return;
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    // On 32-bit ARM, the lowest bit of an address means Thumb code.
    const std::uint64_t thumb = image_.machine() == EM_ARM ? symbol.st_value & 1 : 0;
    builder_.add({.begin = symbol.st_value - thumb + bias_,
                  .size = symbol.st_size,
                  .bound = end + bias_,
                  .name = name,
                  .binding = binding == STB_LOCAL  ? Binding::local
                             : binding == STB_WEAK ? Binding::weak
                                                   : Binding::global,
                  .is_label = !is_function});
    ++functions_;
  }

  std::size_t functions() const { return functions_; }

 private:
  /// The end of the code that the symbol is in; 0 if the symbol is not in code.
  std::uint64_t code_end(const Elf64_Sym& symbol) const {
    const auto inside = [&](std::uint64_t begin, std::uint64_t size) {
      return symbol.st_value >= begin && symbol.st_value - begin < size ? begin + size : 0;
    };
    const auto& sections = image_.sections();
    if (symbol.st_shndx < SHN_LORESERVE && symbol.st_shndx < sections.size()) {
      const Elf64_Shdr& section = sections[symbol.st_shndx];
      return section.sh_flags & SHF_EXECINSTR ? inside(section.sh_addr, section.sh_size) : 0;
    }
    for (const Elf64_Phdr& segment : image_.segments())
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
        if (const std::uint64_t end = inside(segment.p_vaddr, segment.p_memsz)) return end;
    return 0;
  }

  /// Labels that do not mark a function: ARM's and RISC-V's kinds of code, compilers' local labels,
  /// linkers' ends of sections.
  static bool is_mark(std::string_view name) {
    return name.starts_with('$') || name.starts_with(".L") || name == "_etext" || name == "etext" ||
           name == "__etext";
  }

  const ElfImage& image_;
  std::uint64_t bias_;
  const std::vector<std::byte>& strings_;
  SymbolTableBuilder& builder_;
  std::size_t functions_ = 0;
};

template <typename Symbol>
void read_symbols(const ElfImage& image, const Elf64_Shdr& table, FunctionReader& reader) {
  std::vector<Symbol> symbols(symbol_batch);
  const std::uint64_t count = std::min(table.sh_size / sizeof(Symbol), max_symbols_read);
  // If the file cannot hold the whole count, the symbols that it does hold are used.
  for (std::uint64_t at = 0; at < count; at += symbols.size()) {
    symbols.resize(std::min<std::uint64_t>(symbol_batch, count - at));
    if (!image.bytes().read(table.sh_offset + at * sizeof(Symbol),
                            std::as_writable_bytes(std::span(symbols))))
      break;
    for (const Symbol& symbol : symbols) reader.symbol(widened(symbol));
  }
}

}  // namespace

std::size_t add_functions(const ElfImage& image, std::uint32_t table_type, std::uint64_t bias,
                          std::uint64_t max_string_bytes, SymbolTableBuilder& builder) {
  const Elf64_Shdr* table = image.section_of_type(table_type);
  if (!table || table->sh_link >= image.sections().size()) return 0;
  const Elf64_Shdr& string_section = image.sections()[table->sh_link];
  if (string_section.sh_type != SHT_STRTAB) return 0;
  const auto strings =
      image.bytes().read(string_section.sh_offset, string_section.sh_size, max_string_bytes);
  if (!strings) return 0;
  FunctionReader reader(image, bias, *strings, builder);
  if (image.is_64bit())
    read_symbols<Elf64_Sym>(image, *table, reader);
  else
    read_symbols<Elf32_Sym>(image, *table, reader);
  return reader.functions();
}

}  // namespace overdue
