#include "symbols/elf_symbols.h"

#include <lzma.h>

#include <algorithm>

#include "symbols/elf_functions.h"
#include "symbols/xz.h"

namespace overdue {
namespace {

constexpr std::uint64_t most_packed_bytes = 64u << 20;

/// One attempt to find more symbols for `image` than it has itself.
class FurtherSymbols {
 public:
  FurtherSymbols(const ElfImage& image, std::string build_id, const OpenFile& open,
                 const ElfLimits& limits, SymbolTableBuilder& builder)
      : image_(image),
        build_id_(std::move(build_id)),
        open_(open),
        limits_(limits),
        builder_(builder) {}

  bool from_debug_file(const std::string& path) {
    if (!open_) return false;
    for (const std::string& candidate : debug_file_paths_by_id(build_id_)) {
      const FileBytes bytes(open_(candidate));
      const auto debug = ElfImage::read(bytes);
      if (debug && debug->build_id() == build_id_ && add(*debug)) return true;
    }
    const auto link = image_.debug_link();
    if (!link || !path.starts_with('/')) return false;
    for (const std::string& candidate : debug_file_paths_by_link(link->name, path)) {
      const FileBytes bytes(open_(candidate));
      const auto debug = ElfImage::read(bytes);
      if (debug && has_crc(bytes, link->crc) && add(*debug)) return true;
    }
    return false;
  }

  bool from_debugdata() {
    const Elf64_Shdr* section = image_.section(".gnu_debugdata");
    if (!section) return false;
    const auto packed =
        image_.bytes().read(section->sh_offset, section->sh_size, most_packed_bytes);
    if (!packed) return false;
    const auto unpacked = unpack_xz(*packed, limits_.debugdata_bytes);
    if (!unpacked) return false;
    const FileBytes bytes(*unpacked);
    const auto mini = ElfImage::read(bytes);
    return mini && add(*mini);
  }

 private:
  bool add(const ElfImage& other) {
    // prelink moves a file and leaves its debug file where it was.
    const auto here = image_.load_address(), there = other.load_address();
    const std::uint64_t bias = here && there ? *here - *there : 0;
    return add_functions(other, SHT_SYMTAB, bias, limits_.string_bytes, builder_) > 0;
  }

  bool has_crc(const FileBytes& bytes, std::uint32_t expected) const {
    if (bytes.size() > limits_.debug_file_bytes) return false;
    std::vector<std::byte> part(1u << 20);
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < bytes.size(); at += part.size()) {
      part.resize(std::min<std::uint64_t>(part.size(), bytes.size() - at));
      if (!bytes.read(at, part)) return false;
      // The polynomial of .gnu_debuglink is that of zlib, and of xz.
      crc = lzma_crc32(reinterpret_cast<const std::uint8_t*>(part.data()), part.size(), crc);
    }
    return crc == expected;
  }

  const ElfImage& image_;
  std::string build_id_;
  const OpenFile& open_;
  const ElfLimits& limits_;
  SymbolTableBuilder& builder_;
};

}  // namespace

std::vector<std::string> debug_file_paths_by_id(const std::string& build_id) {
  if (build_id.size() < 6) return {};
  return {"/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) +
          ".debug"};
}

std::vector<std::string> debug_file_paths_by_link(const std::string& link,
                                                  const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::vector<std::string> paths = {folder + link, folder + ".debug/" + link,
                                    "/usr/lib/debug" + folder + link};
  std::erase(paths, path);
  return paths;
}

ElfSymbols::ElfSymbols(const FileBytes& bytes, const OpenFile& open, const std::string& path,
                       const ElfLimits& limits) {
  const auto image = ElfImage::read(bytes);
  if (!image) return;
  is_elf_ = true;
  build_id_ = image->build_id();
  for (const bool is_executable : {true, false})
    for (const Elf64_Phdr& segment : image->segments())
      if (segment.p_type == PT_LOAD && ((segment.p_flags & PF_X) != 0) == is_executable)
        segments_.push_back({.file_offset = segment.p_offset,
                             .address = segment.p_vaddr,
                             .size = std::min(segment.p_filesz, segment.p_memsz)});

  SymbolTableBuilder builder(SymbolTableBuilder::Overlap::inner, limits.symbols, limits.name_bytes);
  has_full_table_ = add_functions(*image, SHT_SYMTAB, 0, limits.string_bytes, builder) > 0;
  add_functions(*image, SHT_DYNSYM, 0, limits.string_bytes, builder);
  add_plt_stubs(*image, builder);
  if (!has_full_table_) {
    FurtherSymbols further(*image, build_id_, open, limits, builder);
    has_full_table_ = further.from_debug_file(path) || further.from_debugdata();
  }
  dropped_ = builder.dropped();
  table_ = std::move(builder).build();
}

std::optional<std::uint64_t> ElfSymbols::address_of(std::uint64_t file_offset) const {
  for (const Segment& segment : segments_)
    if (file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.size)
      return segment.address + (file_offset - segment.file_offset);
  return std::nullopt;
}

std::optional<std::uint64_t> ElfSymbols::file_offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_)
    if (address >= segment.address && address - segment.address < segment.size)
      return segment.file_offset + (address - segment.address);
  return std::nullopt;
}

std::size_t ElfSymbols::memory_bytes() const {
  return sizeof *this + table_.memory_bytes() + segments_.capacity() * sizeof(Segment) +
         build_id_.capacity();
}

}  // namespace overdue
