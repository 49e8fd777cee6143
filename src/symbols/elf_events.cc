#include "symbols/elf_events.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/text.h"
#include "symbols/demangle.h"
#include "symbols/elf_image.h"

namespace overdue {
namespace {

constexpr std::size_t batch = 1024;
constexpr std::uint64_t most_symbols = 4u << 20;
constexpr std::uint64_t most_bytes_of_names = 256u << 20;
constexpr std::size_t most_candidates = 20'000;  // for the nearest name
constexpr std::size_t longest_candidate = 64;
constexpr std::size_t most_probes = 4096;
constexpr std::uint64_t most_note_bytes = 4u << 20;
constexpr std::uint32_t sdt_note = 3;  // NT_STAPSDT

std::string_view without_parameters(std::string_view name) {
  return name.substr(0, name.find('('));
}

class FunctionSearch {
 public:
  FunctionSearch(const ElfImage& image, std::string_view name)
      : image_(image), name_(name), is_qualified_(name.find("::") != std::string_view::npos) {}

  void look_through(std::uint32_t table_type) {
    const Elf64_Shdr* table = image_.section_of_type(table_type);
    if (!table || table->sh_link >= image_.sections().size() || !image_.is_64bit()) return;
    const Elf64_Shdr& names = image_.sections()[table->sh_link];
    if (names.sh_type != SHT_STRTAB) return;
    const auto strings = image_.bytes().read(names.sh_offset, names.sh_size, most_bytes_of_names);
    if (!strings) return;
    std::vector<Elf64_Sym> symbols;
    const std::uint64_t count = std::min(table->sh_size / sizeof(Elf64_Sym), most_symbols);
    for (std::uint64_t at = 0; at < count; at += symbols.size()) {
      symbols.resize(std::min<std::uint64_t>(batch, count - at));
      if (!image_.bytes().read(table->sh_offset + at * sizeof(Elf64_Sym),
                               std::as_writable_bytes(std::span(symbols))))
        return;
      for (const Elf64_Sym& symbol : symbols) look_at(symbol, *strings);
    }
  }

  FunctionPlaces finish() {
    std::sort(places_.offsets.begin(), places_.offsets.end());
    places_.offsets.erase(std::unique(places_.offsets.begin(), places_.offsets.end()),
                          places_.offsets.end());
    if (places_.offsets.empty()) {
      const std::vector<std::string_view> views(candidates_.begin(), candidates_.end());
      places_.nearest = nearest(name_, views);
    }
    places_.is_elf = true;
    return std::move(places_);
  }

 private:
  void look_at(const Elf64_Sym& symbol, const std::vector<std::byte>& strings) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF) return;
    const auto offset = offset_of(symbol.st_value);
    if (!offset) return;
    std::string_view name = string_at(strings, symbol.st_name);
    if (const std::size_t version = name.find('@'); version != 0) name = name.substr(0, version);
    if (name.empty()) return;
    places_.has_names = true;
    const bool same = name == name_ || (is_qualified_ && name.starts_with("_") &&
                                        without_parameters(demangle(name)) == name_);
    if (same && places_.offsets.size() < most_candidates) places_.offsets.push_back(*offset);
    if (candidates_.size() < most_candidates && name.size() <= longest_candidate)
      candidates_.emplace_back(name);
  }

  /// Of code only.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : image_.segments())
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz)
        return address - segment.p_vaddr + segment.p_offset;
    return std::nullopt;
  }

  const ElfImage& image_;
  std::string_view name_;
  bool is_qualified_;
  FunctionPlaces places_;
  std::vector<std::string> candidates_;
};

std::size_t padded(std::size_t size) {
  return (size + 3) / 4 * 4;
}

/// The two texts behind the three addresses of a probe's note.
std::optional<UsdtProbe> probe_of(std::span<const std::byte> note) {
  constexpr std::size_t addresses = 3 * sizeof(std::uint64_t);
  if (note.size() < addresses) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(note.data()) + addresses,
                              note.size() - addresses);
  const std::size_t provider = text.find('\0');
  if (provider == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(provider + 1);
  const std::size_t name = rest.find('\0');
  if (name == std::string_view::npos || name == 0) return std::nullopt;
  return UsdtProbe{std::string(text.substr(0, provider)), std::string(rest.substr(0, name))};
}

}  // namespace

FunctionPlaces find_function(const FileBytes& bytes, std::string_view name) {
  const auto image = ElfImage::read(bytes);
  if (!image) return {};
  FunctionSearch search(*image, name);
  search.look_through(SHT_SYMTAB);
  search.look_through(SHT_DYNSYM);
  return search.finish();
}

std::vector<UsdtProbe> usdt_probes(const FileBytes& bytes) {
  std::vector<UsdtProbe> probes;
  const auto image = ElfImage::read(bytes);
  if (!image || !image->is_64bit()) return probes;
  const Elf64_Shdr* section = image->section(".note.stapsdt");
  if (!section) return probes;
  const auto notes = bytes.read(section->sh_offset, section->sh_size, most_note_bytes);
  if (!notes) return probes;
  std::span<const std::byte> rest(*notes);
  Elf64_Nhdr header;
  while (rest.size() >= sizeof header && probes.size() < most_probes) {
    std::memcpy(&header, rest.data(), sizeof header);
    rest = rest.subspan(sizeof header);
    const std::size_t owner = padded(header.n_namesz), size = padded(header.n_descsz);
    if (owner > rest.size() || size > rest.size() - owner) break;
    if (header.n_type == sdt_note)
      if (auto probe = probe_of(rest.subspan(owner, header.n_descsz)))
        if (std::find(probes.begin(), probes.end(), *probe) == probes.end())
          probes.push_back(std::move(*probe));
    rest = rest.subspan(owner + size);
  }
  return probes;
}

}  // namespace overdue
