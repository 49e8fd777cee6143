#pragma once

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "resolve/read_memory.h"

namespace overdue {

/// For tests: a library with dynamic symbols, loaded as it lies in its file, from `loaded_at` on.
/// Bytes up to `free_from` are taken.
class LibraryFixture {
 public:
  static constexpr std::uint64_t loaded_at = 0x7f0000000000, free_from = 0xa00;

  explicit LibraryFixture(std::size_t size) : bytes_(size) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = tables_at;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shoff = tables_at + sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    put(0, header);
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_filesz = segment.p_memsz = size;
    put(tables_at, segment);
  }

  template <typename T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void put_text(std::uint64_t at, std::string_view text) {
    std::memcpy(bytes_.data() + at, text.data(), text.size());
  }
  void add_symbol(std::string_view name, std::uint64_t value, std::uint64_t size) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names_used_);
    symbol.st_shndx = 1;
    symbol.st_value = value;
    symbol.st_size = size;
    put(symbols_at + symbols_++ * sizeof symbol, symbol);
    put_text(names_at + names_used_, name);
    names_used_ += name.size() + 1;
    std::array<Elf64_Shdr, 3> sections{};
    sections[1].sh_type = SHT_DYNSYM;
    sections[1].sh_offset = symbols_at;
    sections[1].sh_size = symbols_ * sizeof symbol;
    sections[1].sh_link = 2;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = names_at;
    sections[2].sh_size = names_used_;
    put(tables_at + sizeof(Elf64_Phdr), sections);
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The process's memory: the first `readable` bytes of the library.
  ReadMemory memory(std::size_t readable) const {
    return [this, readable](std::uint64_t address, std::span<std::byte> out) {
      if (address < loaded_at || address - loaded_at > readable ||
          out.size() > readable - (address - loaded_at))
        return false;
      std::memcpy(out.data(), bytes_.data() + (address - loaded_at), out.size());
      return true;
    };
  }

 private:
  static constexpr std::uint64_t tables_at = sizeof(Elf64_Ehdr), names_at = 0x300,
                                 symbols_at = 0x500;

  std::vector<std::byte> bytes_;
  std::uint64_t names_used_ = 1, symbols_ = 0;
};

}  // namespace overdue
