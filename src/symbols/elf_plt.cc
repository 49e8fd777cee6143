#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "symbols/elf_functions.h"

namespace overdue {
namespace {

constexpr std::uint64_t max_stub_bytes = 16u << 20;
constexpr std::uint64_t max_table_bytes = 64u << 20;

/// Slots of the global offset table, each with the dynamic symbol that it will hold.
std::map<std::uint64_t, std::uint64_t> imported_slots(const ElfImage& image) {
  std::map<std::uint64_t, std::uint64_t> slots;
  std::uint64_t budget = max_table_bytes;  // for all sections: they may name the same bytes
  for (const Elf64_Shdr& section : image.sections()) {
    if (section.sh_type != SHT_RELA || !(section.sh_flags & SHF_ALLOC)) continue;
    const auto bytes = image.bytes().read(section.sh_offset, section.sh_size, budget);
    if (!bytes) continue;
    budget -= bytes->size();
    for (std::size_t at = 0; bytes->size() - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      std::memcpy(&relocation, bytes->data() + at, sizeof relocation);
      const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
      const bool imports = image.machine() == EM_X86_64
                               ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
                               : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
      if (imports) slots.emplace(relocation.r_offset, ELF64_R_SYM(relocation.r_info));
    }
  }
  return slots;
}

/// The slot that an x86-64 stub jumps through: `jmp *distance(%rip)`, alone, after `endbr64`, or
/// after `endbr64` and `bnd`.
std::uint64_t x86_slot(std::span<const std::byte> stub, std::uint64_t address) {
  for (std::size_t at = 0; at <= 5 && at + 6 <= stub.size(); ++at) {
    if (stub[at] != std::byte{0xff} || stub[at + 1] != std::byte{0x25}) continue;
    std::int32_t distance;
    std::memcpy(&distance, stub.data() + at + 2, sizeof distance);
    return address + at + 6 + static_cast<std::uint64_t>(std::int64_t{distance});
  }
  return 0;
}

/// The slot of an arm64 stub: `adrp x16, page`, `ldr x17, [x16, offset]`, alone or after `bti c`.
std::uint64_t arm_slot(std::span<const std::byte> stub, std::uint64_t address) {
  for (std::size_t at = 0; at <= 4 && at + 8 <= stub.size(); at += 4) {
    std::uint32_t adrp, ldr;
    std::memcpy(&adrp, stub.data() + at, sizeof adrp);
    std::memcpy(&ldr, stub.data() + at + 4, sizeof ldr);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) continue;
    const std::uint64_t pages = ((adrp >> 5 & 0x7ffff) << 2) | (adrp >> 29 & 3);
    const std::uint64_t distance = (pages ^ (1u << 20)) - (1u << 20);  // 21 bits with a sign
    return ((address + at) & ~std::uint64_t{4095}) + (distance << 12) + (ldr >> 10 & 0xfff) * 8;
  }
  return 0;
}

std::uint64_t stub_bytes(const ElfImage& image, const Elf64_Shdr& section) {
  if (section.sh_entsize >= 8 && section.sh_entsize <= 64) return section.sh_entsize;
  return image.name_of(section) == ".plt.got" && image.machine() == EM_X86_64 ? 8 : 16;
}

}  // namespace

void add_plt_stubs(const ElfImage& image, SymbolTableBuilder& builder) {
  if (!image.is_64bit() || (image.machine() != EM_X86_64 && image.machine() != EM_AARCH64)) return;
  const Elf64_Shdr* table = image.section_of_type(SHT_DYNSYM);
  if (!table || table->sh_link >= image.sections().size()) return;
  const Elf64_Shdr& string_section = image.sections()[table->sh_link];
  const auto strings =
      image.bytes().read(string_section.sh_offset, string_section.sh_size, max_table_bytes);
  if (!strings) return;
  std::map<std::uint64_t, std::uint64_t> slots;
  for (const std::string_view name : {".plt.sec", ".plt", ".plt.got"}) {
    const Elf64_Shdr* section = image.section(name);
    if (!section || !(section->sh_flags & SHF_EXECINSTR)) continue;
    const auto code = image.bytes().read(section->sh_offset, section->sh_size, max_stub_bytes);
    if (!code) continue;
    if (slots.empty()) slots = imported_slots(image);
    const std::uint64_t step = stub_bytes(image, *section);
    // arm64: stubs follow a header of 32 bytes, a multiple of 16 but not of 24.
    const bool has_odd_header = image.machine() == EM_AARCH64 && name == ".plt";
    for (std::uint64_t at = has_odd_header ? 32 : 0; at < code->size(); at += step) {
      const std::span stub = std::span(*code).subspan(at, std::min(step, code->size() - at));
      const std::uint64_t address = section->sh_addr + at;
      const std::uint64_t slot =
          image.machine() == EM_X86_64 ? x86_slot(stub, address) : arm_slot(stub, address);
      const auto found = slots.find(slot);
      if (slot == 0 || found == slots.end()) continue;
      const std::uint64_t index = found->second;
      if (index >= table->sh_size / sizeof(Elf64_Sym)) continue;
      const auto symbol =
          image.bytes().get<Elf64_Sym>(table->sh_offset + index * sizeof(Elf64_Sym));
      if (!symbol) continue;
      const std::string_view import = string_at(*strings, symbol->st_name);
      if (import.empty()) continue;
      builder.add(
          {.begin = address,
           .size = stub.size(),
           .name = std::string(import.substr(0, SymbolTableBuilder::longest_name - 4)) + "@plt",
           .binding = Binding::local});
    }
  }
}

}  // namespace overdue
