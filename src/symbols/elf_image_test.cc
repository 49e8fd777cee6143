#include "symbols/elf_image.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "symbols/elf_symbols.h"

namespace overdue {
namespace {

/// An ELF file of nothing but segments and notes.
class MadeElf {
 public:
  explicit MadeElf(std::vector<Elf64_Phdr> segments) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(segments.size());
    put(&header, sizeof header);
    put(segments.data(), segments.size() * sizeof segments[0]);
    bytes_.resize(notes_at);
  }
  MadeElf& note(std::uint32_t type, std::string_view owner, std::string_view description) {
    const Elf64_Nhdr header{.n_namesz = static_cast<std::uint32_t>(owner.size()),
                            .n_descsz = static_cast<std::uint32_t>(description.size()),
                            .n_type = type};
    put(&header, sizeof header);
    put(owner.data(), owner.size());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    put(description.data(), description.size());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  static constexpr std::uint64_t notes_at = 0x200;

 private:
  void put(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::vector<std::byte> bytes_;
};

Elf64_Phdr segment(std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
                   std::uint64_t address, std::uint64_t size) {
  return {.p_type = type,
          .p_flags = flags,
          .p_offset = offset,
          .p_vaddr = address,
          .p_paddr = 0,
          .p_filesz = size,
          .p_memsz = size,
          .p_align = 4};
}

constexpr std::string_view gnu("GNU\0", 4);

std::string build_id_of(const MadeElf& elf) {
  const FileBytes bytes(elf.bytes());
  const auto image = ElfImage::read(bytes);
  return image ? image->build_id() : "no ELF file";
}

TEST(ElfImage, BuildIdIsFoundBehindOtherNotes) {
  const Elf64_Phdr notes = segment(PT_NOTE, PF_R, MadeElf::notes_at, 0, 0x100);
  EXPECT_EQ(build_id_of(MadeElf({notes})
                            .note(1, "owner", "odd")
                            .note(NT_GNU_BUILD_ID, gnu, "\x01\xab")
                            .note(9, "", "")
                            .note(9, "padding", std::string(0x100, ' '))),
            "01ab");
  EXPECT_EQ(
      build_id_of(MadeElf({notes}).note(NT_GNU_BUILD_ID, std::string_view("Foo\0", 4), "\x01\xab")),
      "");
  EXPECT_EQ(build_id_of(MadeElf({notes})
                            .note(NT_GNU_BUILD_ID, gnu, std::string(65, 'a'))
                            .note(9, "", std::string(0x100, ' '))),
            "");
}

// A page of the file that is mapped twice: an address in code belongs to the executable mapping.
TEST(ElfSymbols, ExecutableSegmentsComeFirst) {
  const MadeElf elf({segment(PT_LOAD, PF_R | PF_W, 0x100, 0x8100, 0x100),
                     segment(PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x200)});
  const ElfSymbols symbols{FileBytes(elf.bytes())};
  EXPECT_EQ(symbols.address_of(0x180), 0x1180u);
  EXPECT_EQ(symbols.file_offset_of(0x8180), 0x180u);
  EXPECT_EQ(symbols.address_of(0x200), std::nullopt);
  EXPECT_EQ(symbols.file_offset_of(0x0fff), std::nullopt);
}

TEST(FileBytes, ReadsAllOrNothing) {
  const std::array<std::byte, 4> memory{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  const FileBytes bytes(memory);
  EXPECT_EQ(bytes.get<std::uint16_t>(2), 0x0403);
  EXPECT_EQ(bytes.get<std::uint16_t>(3), std::nullopt);
  EXPECT_EQ(bytes.get<std::uint16_t>(~std::uint64_t{0}), std::nullopt);
  EXPECT_TRUE(bytes.read(4, 0, 0));
  EXPECT_FALSE(bytes.read(5, 0, 0));
  EXPECT_FALSE(bytes.read(0, 4, 3));
  EXPECT_FALSE(bytes.read(1, ~std::uint64_t{0}, ~std::uint64_t{0}));
}

}  // namespace
}  // namespace overdue
