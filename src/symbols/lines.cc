#include "symbols/lines.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "symbols/demangle.h"

namespace overdue {
namespace {

using Clock = std::chrono::steady_clock;

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct DwarfEnd {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
using ElfPointer = std::unique_ptr<Elf, ElfEnd>;
using DwarfPointer = std::unique_ptr<Dwarf, DwarfEnd>;

/// An ELF file with empty DWARF. It replaces the alternate debug file, which libdw would open by
/// the path that a file names, whatever is there.
struct EmptyDwarf {
  Elf64_Ehdr header{};
  Elf64_Shdr sections[3]{};
  char names[24] = "\0.debug_info\0.strtab";
  char info[8] = {};

  EmptyDwarf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shoff = offsetof(EmptyDwarf, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    describe(sections[1], SHT_PROGBITS, 1, offsetof(EmptyDwarf, info), sizeof info);
    describe(sections[2], SHT_STRTAB, 13, offsetof(EmptyDwarf, names), sizeof names);
  }
  static void describe(Elf64_Shdr& section, Elf64_Word type, Elf64_Word name, std::size_t offset,
                       std::size_t size) {
    section.sh_type = type;
    section.sh_name = name;
    section.sh_offset = offset;
    section.sh_size = size;
    section.sh_addralign = 1;
  }
};

std::string_view text_or_empty(const char* text) {
  return text ? std::string_view(text) : std::string_view();
}

/// The number of bytes that libdw will load of `elf`, unpacked; nothing if beyond `limit`. Also
/// nothing for sections in the older packed format, which keep their size elsewhere, and for a file
/// in which libdw would choose between sections: libdw must read the sections that were checked.
std::optional<std::uint64_t> bytes_of(Elf* elf, std::uint64_t limit) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
  std::uint64_t sum = 0;
  std::set<std::string_view> seen;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) return std::nullopt;
    const std::string_view name = text_or_empty(elf_strptr(elf, names, header.sh_name));
    if (name.starts_with(".zdebug") || name.starts_with(".gnu.debuglto")) return std::nullopt;
    if (!name.starts_with(".debug") && !name.starts_with(".gnu_debug")) continue;
    if (name.ends_with(".dwo") || !seen.insert(name).second) return std::nullopt;
    std::uint64_t size = header.sh_type == SHT_NOBITS ? 0 : header.sh_size;
    if (size > limit) return std::nullopt;
    if (header.sh_flags & SHF_COMPRESSED) {
      GElf_Chdr packed;
      if (!gelf_getchdr(section, &packed)) return std::nullopt;
      size = std::max<std::uint64_t>(size, packed.ch_size);
    }
    if (size > limit - sum) return std::nullopt;
    sum += size;
  }
  return sum;
}

std::optional<std::uint64_t> number_of(Dwarf_Die& entry, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (!dwarf_attr(&entry, attribute, &found) || dwarf_formudata(&found, &value) != 0)
    return std::nullopt;
  return value;
}

/// Entries that may contain functions, but are at no address themselves.
bool may_hold_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_module;
}

bool has_code(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
         tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/// A function that the linker has left out keeps its debug information, at address 0.
bool is_left_out(Dwarf_Die& entry) {
  Dwarf_Addr begin = 0;
  return dwarf_tag(&entry) == DW_TAG_subprogram && dwarf_lowpc(&entry, &begin) == 0 && begin == 0;
}

/// The way from a unit down to the innermost code entry at an address.
class Search {
 public:
  /// Functions of a local class are below a function whose code is elsewhere: a deep search visits
  /// every entry for them.
  enum class Depth { usual, deep };

  Search(std::uint64_t address, const LineLimits& limits)
      : address_(address), limits_(limits), end_(Clock::now() + limits.time) {}

  /// Outermost first; nothing if a limit is reached.
  std::vector<Dwarf_Die> run(Dwarf_Die unit) {
    for (depth_ = Depth::usual; path_.empty() && !was_cut_; depth_ = Depth::deep) {
      look_into(unit, 0);
      if (depth_ == Depth::deep) break;
    }
    if (was_cut_) path_.clear();
    return std::move(path_);
  }

 private:
  /// Whether the search is over: the address was found, or a limit is reached.
  bool look_into(Dwarf_Die& parent, std::size_t level) {
    Dwarf_Die entry;
    if (dwarf_child(&parent, &entry) != 0) return false;
    while (true) {
      was_cut_ |= ++entries_ > limits_.entries || level > limits_.depth || Clock::now() > end_;
      if (was_cut_) return true;
      const int tag = dwarf_tag(&entry);
      if (has_code(tag) && dwarf_haspc(&entry, address_) == 1 && !is_left_out(entry)) {
        path_.push_back(entry);
        look_into(entry, level + 1);
        return true;
      }
      const bool is_wanted = may_hold_functions(tag) || (depth_ == Depth::deep && has_code(tag));
      if (is_wanted && look_into(entry, level + 1)) return true;
      Dwarf_Die next;
      if (dwarf_siblingof(&entry, &next) != 0) return false;
      entry = next;
    }
  }

  std::uint64_t address_;
  const LineLimits& limits_;
  Clock::time_point end_;
  Depth depth_ = Depth::usual;
  bool was_cut_ = false;
  std::size_t entries_ = 0;
  std::vector<Dwarf_Die> path_;
};

}  // namespace

class SourceLines::File {
 public:
  static std::unique_ptr<File> open(Fd file, const LineLimits& limits) {
    if (!file || elf_version(EV_CURRENT) == EV_NONE) return nullptr;
    // Read, not mapped: a file that shrinks meanwhile must not cause a SIGBUS.
    ElfPointer elf(elf_begin(file.get(), ELF_C_READ, nullptr));
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return nullptr;
    const auto bytes = bytes_of(elf.get(), limits.section_bytes);
    if (!bytes) return nullptr;
    auto opened = std::unique_ptr<File>(new File(std::move(file), std::move(elf), limits));
    opened->section_bytes_ = *bytes;
    return opened->dwarf_ && opened->read_texts() && opened->read_units() ? std::move(opened)
                                                                          : nullptr;
  }

  std::vector<SourceLine> find(std::uint64_t address) {
    auto range = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
    if (range == ranges_.begin()) return {};
    --range;
    if (address >= range->end) return {};
    Dwarf_Die unit;
    if (!dwarf_offdie(dwarf_.get(), range->unit, &unit)) return {};
    std::vector<Dwarf_Die> path = Search(address, limits_).run(unit);
    std::erase_if(path, [](Dwarf_Die& entry) {
      const int tag = dwarf_tag(&entry);
      return tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine;
    });
    const bool has_lines = has_bounded_lines(unit);
    SourceLine innermost = has_lines ? line_at(unit, address) : SourceLine();
    if (path.empty()) {
      if (innermost.file.empty()) return {};
      return {std::move(innermost)};
    }
    std::vector<SourceLine> lines = {std::move(innermost)};
    for (std::size_t i = path.size(); i-- > 0;) {
      lines.back().function = name_of(path[i]);
      lines.back().is_inlined = dwarf_tag(&path[i]) == DW_TAG_inlined_subroutine;
      if (!lines.back().is_inlined) break;
      lines.push_back(has_lines ? call_of(unit, path[i]) : SourceLine());
    }
    return lines;
  }

  std::size_t memory_bytes() const {
    return sizeof *this + section_bytes_ + ranges_.capacity() * sizeof(Range);
  }

 private:
  struct Range {
    std::uint64_t begin, end;
    Dwarf_Off unit;
  };

  File(Fd file, ElfPointer elf, const LineLimits& limits)
      : file_(std::move(file)),
        elf_(std::move(elf)),
        dwarf_(dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr)),
        limits_(limits) {
    char* const empty = reinterpret_cast<char*>(&empty_);
    alternate_elf_.reset(elf_memory(empty, sizeof empty_));
    alternate_.reset(dwarf_begin_elf(alternate_elf_.get(), DWARF_C_READ, nullptr));
    if (!alternate_) dwarf_.reset();
    if (dwarf_) dwarf_setalt(dwarf_.get(), alternate_.get());
  }

  /// Finds the code of each unit. .debug_aranges has that too, but not all compilers write it.
  bool read_units() {
    const Clock::time_point end = Clock::now() + limits_.time;
    Dwarf_Off next = 0;
    std::size_t header_size = 0;
    for (Dwarf_Off at = 0; dwarf_next_unit(dwarf_.get(), at, &next, &header_size, nullptr, nullptr,
                                           nullptr, nullptr, nullptr, nullptr) == 0;
         at = next) {
      if (++units_ > limits_.units || Clock::now() > end || next <= at) break;
      Dwarf_Die unit;
      if (!dwarf_offdie(dwarf_.get(), at + header_size, &unit) ||
          dwarf_tag(&unit) != DW_TAG_compile_unit)
        continue;
      // The rest of the unit is in another file, which libdw would open.
      if (dwarf_hasattr(&unit, DW_AT_dwo_name) || dwarf_hasattr(&unit, DW_AT_GNU_dwo_name))
        continue;
      // libdw reads the folder if a file's name is relative.
      Dwarf_Attribute folder;
      if (dwarf_attr(&unit, DW_AT_comp_dir, &folder) && !text_of(folder)) continue;
      add_ranges(unit);
    }
    std::ranges::sort(ranges_, {}, &Range::begin);
    return !ranges_.empty();
  }

  void add_ranges(Dwarf_Die& unit) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (std::ptrdiff_t at = 0; ranges_.size() < limits_.ranges;) {
      const std::ptrdiff_t next = dwarf_ranges(&unit, at, &base, &begin, &end);
      if (next <= 0) break;
      if (begin > 0 && begin < end) ranges_.push_back({begin, end, dwarf_dieoffset(&unit)});
      at = next;
    }
  }

  /// At worst, libdw keeps a row for each byte of a line program, so it gets only short ones.
  bool has_bounded_lines(Dwarf_Die& unit) {
    const auto offset = number_of(unit, DW_AT_stmt_list);
    if (!offset) return false;
    const Elf_Data* lines = section(".debug_line");
    if (!lines || *offset > lines->d_size || lines->d_size - *offset < 12) return false;
    const auto* at = static_cast<const char*>(lines->d_buf) + *offset;
    std::uint32_t short_size = 0;
    std::uint64_t size = 0;
    std::memcpy(&short_size, at, sizeof short_size);
    std::memcpy(&size, at + sizeof short_size, sizeof size);
    return (short_size == 0xffffffff ? size : short_size) <= limits_.program_bytes;
  }

  std::string name_of(Dwarf_Die& entry) const {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
      Dwarf_Attribute found;
      if (!dwarf_attr_integrate(&entry, attribute, &found)) continue;
      const auto name = text_of(found);
      if (name && !name->empty()) return demangle(*name);
    }
    return {};
  }

  /// Empty if there is no text; nothing if the text does not end within its section: libdw (0.188)
  /// does not check the end of a text in an entry, and lets an indexed text begin at the end of the
  /// section.
  std::optional<std::string_view> text_of(Dwarf_Attribute& attribute) const {
    const char* const text = dwarf_formstring(&attribute);
    if (!text) return std::string_view();
    for (const std::span<const char> section : texts_) {
      const char* const end = section.data() + section.size();
      if (std::less()(text, section.data()) || !std::less()(text, end)) continue;
      const char* const zero = std::find(text, end, '\0');
      return zero == end ? std::nullopt : std::optional(std::string_view(text, zero));
    }
    return std::nullopt;
  }

  /// A section, as libdw has unpacked it in place.
  const Elf_Data* section(std::string_view wanted) const {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_.get(), &names) != 0) return nullptr;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section));) {
      GElf_Shdr header;
      if (!gelf_getshdr(section, &header)) return nullptr;
      if (text_or_empty(elf_strptr(elf_.get(), names, header.sh_name)) != wanted) continue;
      const Elf_Data* data = elf_rawdata(section, nullptr);
      return data && data->d_buf ? data : nullptr;
    }
    return nullptr;
  }

  /// Finds the sections with texts. False if the last text of a section that has only texts does
  /// not end.
  bool read_texts() {
    for (const std::string_view name :
         {".debug_str", ".debug_line_str", ".debug_info", ".debug_types"}) {
      const Elf_Data* data = section(name);
      if (!data || data->d_size == 0) continue;
      texts_.emplace_back(static_cast<const char*>(data->d_buf), data->d_size);
      if (name.ends_with("_str") && texts_.back().back() != 0) return false;
    }
    return true;
  }

  SourceLine line_at(Dwarf_Die& unit, std::uint64_t address) {
    SourceLine result;
    Dwarf_Line* found = dwarf_getsrc_die(&unit, address);
    int line = 0;
    if (!found) return result;
    // Code that a compiler has added has a file, but no line.
    if (dwarf_lineno(found, &line) == 0 && line > 0) result.line = static_cast<unsigned>(line);
    result.file = printable(text_or_empty(dwarf_linesrc(found, nullptr, nullptr)));
    return result;
  }

  /// The place where an inlined function is called.
  SourceLine call_of(Dwarf_Die& unit, Dwarf_Die& inlined) {
    SourceLine result;
    const auto line = number_of(inlined, DW_AT_call_line),
               file = number_of(inlined, DW_AT_call_file);
    if (line && *line <= 0x7fffffff) result.line = static_cast<unsigned>(*line);
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (file && dwarf_getsrcfiles(&unit, &files, &count) == 0 && *file < count)
      result.file = printable(text_or_empty(dwarf_filesrc(files, *file, nullptr, nullptr)));
    return result;
  }

  EmptyDwarf empty_;
  ElfPointer alternate_elf_;
  DwarfPointer alternate_;
  Fd file_;
  ElfPointer elf_;
  DwarfPointer dwarf_;
  LineLimits limits_;
  std::size_t units_ = 0;
  std::uint64_t section_bytes_ = 0;
  std::vector<std::span<const char>> texts_;  // sections with texts
  std::vector<Range> ranges_;                 // by begin
};

SourceLines::SourceLines(Fd file, const LineLimits& limits)
    : file_(File::open(std::move(file), limits)) {}
SourceLines::~SourceLines() = default;
SourceLines::SourceLines(SourceLines&&) noexcept = default;
SourceLines& SourceLines::operator=(SourceLines&&) noexcept = default;

bool SourceLines::has_debug_info() const {
  return file_ != nullptr;
}

std::size_t SourceLines::memory_bytes() const {
  return sizeof *this + (file_ ? file_->memory_bytes() : 0);
}

std::vector<SourceLine> SourceLines::find(std::uint64_t address) {
  return file_ ? file_->find(address) : std::vector<SourceLine>();
}

}  // namespace overdue
