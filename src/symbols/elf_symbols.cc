#include "symbols/elf_symbols.h"

#include <algorithm>

#include "symbols/debug_file.h"
#include "symbols/elf_functions.h"
#include "symbols/xz.h"

namespace overdue {
namespace {

constexpr std::uint64_t max_packed_bytes = 64u << 20;

/// One attempt to find more symbols for `image` than it has itself.
class FurtherSymbols {
 public:
  FurtherSymbols(const ElfImage& image, const OpenFile& open, const ElfLimits& limits,
                 SymbolTableBuilder& builder)
      : image_(image), open_(open), limits_(limits), builder_(builder) {}

  bool from_debug_file(const std::string& path) {
    return look_for_debug_file(image_, open_, path, limits_.debug_file_bytes,
                               [this](Fd, const ElfImage& debug) { return add(debug); });
  }

  bool from_debugdata() {
    const Elf64_Shdr* section = image_.section(".gnu_debugdata");
    if (!section) return false;
    const auto packed = image_.bytes().read(section->sh_offset, section->sh_size, max_packed_bytes);
    if (!packed) return false;
    const auto unpacked = unpack_xz(*packed, limits_.debugdata_bytes);
    if (!unpacked) return false;
    const FileBytes bytes(*unpacked);
    const auto mini = ElfImage::read(bytes);
    return mini && add(*mini);
  }

 private:
  bool add(const ElfImage& other) {
    // prelink moves a file, but not its debug file.
    const auto here = image_.load_address(), there = other.load_address();
    const std::uint64_t bias = here && there ? *here - *there : 0;
    return add_functions(other, SHT_SYMTAB, bias, limits_.string_bytes, builder_) > 0;
  }

  const ElfImage& image_;
  const OpenFile& open_;
  const ElfLimits& limits_;
  SymbolTableBuilder& builder_;
};

}  // namespace

bool is_build_id(std::string_view text) {
  return text.size() > 2 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

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
  segments_ = LoadSegments(*image);

  SymbolTableBuilder builder(SymbolTableBuilder::Overlap::inner, limits.symbols, limits.name_bytes);
  has_full_table_ = add_functions(*image, SHT_SYMTAB, 0, limits.string_bytes, builder) > 0;
  add_functions(*image, SHT_DYNSYM, 0, limits.string_bytes, builder);
  add_plt_stubs(*image, builder);
  if (!has_full_table_) {
    FurtherSymbols further(*image, open, limits, builder);
    has_full_table_ = further.from_debug_file(path) || further.from_debugdata();
  }
  dropped_ = builder.dropped();
  table_ = std::move(builder).build();
}

std::size_t ElfSymbols::memory_bytes() const {
  return sizeof *this + table_.memory_bytes() + segments_.memory_bytes() + build_id_.capacity();
}

}  // namespace overdue
