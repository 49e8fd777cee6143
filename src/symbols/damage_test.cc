// Every byte of a small ELF file is damaged in turn, and the file is cut at every length: whatever
// is found, nothing crashes, and look-ups still work.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "symbols/elf_symbols.h"
#include "symbols/elf_values.h"
#include "symbols/test_support.h"

namespace overdue {
namespace {

using symbols_test::content_of;
using symbols_test::fixtures;

void read_all(std::span<const std::byte> bytes) {
  const auto no_debug_file = [](const std::string& path) {
    EXPECT_LT(path.size(), 5000u);
    return Fd();
  };
  const ElfSymbols symbols(FileBytes(bytes), no_debug_file, "/a/file");
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{0x1000}, bytes.size() / 2, ~std::uint64_t{0}}) {
    const auto address = symbols.address_of(offset);
    if (address) symbols.find(*address);
    symbols.find(offset);
    symbols.file_offset_of(offset);
  }
  EXPECT_LT(symbols.memory_bytes(), 16u << 20);
  constexpr std::array<std::string_view, 2> names = {"_start", "no_such_function"};
  const FileBytes file(bytes);
  const auto image = ElfImage::read(file);
  EXPECT_TRUE(!image || elf_values(*image, names).size() <= names.size());
}

class Damage : public testing::TestWithParam<const char*> {};

TEST_P(Damage, OfEachByte) {
  auto bytes = content_of(fixtures + "/" + GetParam());
  ASSERT_GT(bytes.size(), 500u);
  ASSERT_LT(bytes.size(), 40'000u) << "a small fixture is wanted";
  for (std::byte& byte : bytes) {
    const std::byte good = byte;
    for (const std::byte damage : {std::byte{0xff}, std::byte{0x01}, std::byte{0x80}}) {
      byte = good ^ damage;
      read_all(bytes);
    }
    byte = good;
  }
}

TEST_P(Damage, OfTheEnd) {
  const auto bytes = content_of(fixtures + "/" + GetParam());
  for (std::size_t size = 0; size < bytes.size(); ++size) read_all(std::span(bytes).first(size));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Damage,
                         testing::Values("tiny", "separate_tiny/linked", "separate_tiny/debugdata"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

// Headers with huge counts, in a file that is mostly a hole.
TEST(DamagedElf, HugeClaims) {
  const std::string path = testing::TempDir() + "/claims.elf";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_phnum = PN_XNUM;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof header;
  header.e_shstrndx = SHN_XINDEX;
  constexpr std::uint64_t size = std::uint64_t{1} << 40;
  std::vector<Elf64_Shdr> sections(65536);
  for (Elf64_Shdr& section : sections)
    section = {.sh_name = 1,
               .sh_type = SHT_NOTE,
               .sh_flags = SHF_ALLOC,
               .sh_addr = 0,
               .sh_offset = 0,
               .sh_size = size,
               .sh_link = 3,
               .sh_info = 0,
               .sh_addralign = 1,
               .sh_entsize = 0};
  sections[0] = {.sh_name = 0,
                 .sh_type = SHT_NULL,
                 .sh_flags = 0,
                 .sh_addr = 0,
                 .sh_offset = 0,
                 .sh_size = ~std::uint64_t{0},
                 .sh_link = 3,
                 .sh_info = ~0u,
                 .sh_addralign = 0,
                 .sh_entsize = 0};
  sections[1].sh_type = SHT_SYMTAB;
  sections[2].sh_type = SHT_DYNSYM;
  sections[3].sh_type = SHT_STRTAB;
  for (std::size_t i = 4; i < 1000; ++i) sections[i].sh_type = SHT_RELA;
  {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(reinterpret_cast<const char*>(sections.data()),
               static_cast<std::streamsize>(sections.size() * sizeof sections[0]));
  }
  if (truncate(path.c_str(), static_cast<off_t>(size)) != 0)
    GTEST_SKIP() << "no sparse file of 1 TB here";
  const ElfSymbols symbols(symbols_test::bytes_of(path));
  EXPECT_TRUE(symbols.is_elf());
  EXPECT_LT(symbols.memory_bytes(), 16u << 20);
  unlink(path.c_str());
}

}  // namespace
}  // namespace overdue
