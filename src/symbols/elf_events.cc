#include "symbols/elf_events.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "symbols/demangle.h"
#include "symbols/elf_image.h"

namespace overdue {
namespace {

constexpr std::size_t batch = 1024;
constexpr std::uint64_t max_symbols = 4u << 20;
constexpr std::uint64_t max_bytes_of_names = 256u << 20;
constexpr std::size_t max_candidates = 20'000;  // for the nearest name
constexpr std::size_t longest_candidate = 64;
constexpr std::size_t max_probes = 4096;
constexpr std::size_t longest_arguments = 1024;  // of a probe
constexpr std::size_t longest_list = 400;        // of other probes
constexpr std::uint64_t max_note_bytes = 4u << 20;
constexpr std::uint32_t sdt_note = 3;  // NT_STAPSDT

std::string_view without_parameters(std::string_view name) {
  return name.substr(0, name.find('('));
}

/// The file offset of an address in a segment with PF_X (in_code), or in one without (in_data).
constexpr Elf64_Word in_code = PF_X, in_data = 0;
std::optional<std::uint64_t> offset_in_file(const ElfImage& image, std::uint64_t address,
                                            Elf64_Word kind) {
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) == kind &&
        address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  return std::nullopt;
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
    const auto strings = image_.bytes().read(names.sh_offset, names.sh_size, max_bytes_of_names);
    if (!strings) return;
    std::vector<Elf64_Sym> symbols;
    const std::uint64_t count = std::min(table->sh_size / sizeof(Elf64_Sym), max_symbols);
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
    const auto offset = offset_in_file(image_, symbol.st_value, in_code);
    if (!offset) return;
    std::string_view name = string_at(strings, symbol.st_name);
    if (const std::size_t version = name.find('@'); version != 0) name = name.substr(0, version);
    if (name.empty()) return;
    places_.has_names = true;
    const bool same = name == name_ || (is_qualified_ && name.starts_with("_") &&
                                        without_parameters(demangle(name)) == name_);
    if (same && places_.offsets.size() < max_candidates) places_.offsets.push_back(*offset);
    if (candidates_.size() < max_candidates && name.size() <= longest_candidate)
      candidates_.emplace_back(name);
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

/// The content of a probe's note.
struct UsdtNote {
  std::uint64_t instruction = 0, base = 0, semaphore = 0;
  std::string_view provider, name, arguments;
};
std::optional<UsdtNote> read_note(std::span<const std::byte> bytes) {
  std::uint64_t addresses[3];
  if (bytes.size() < sizeof addresses) return std::nullopt;
  std::memcpy(addresses, bytes.data(), sizeof addresses);
  bytes = bytes.subspan(sizeof addresses);
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string_view texts[3];
  for (std::string_view& text : texts) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  if (texts[1].empty() || texts[2].size() > longest_arguments) return std::nullopt;
  return UsdtNote{addresses[0], addresses[1], addresses[2], texts[0], texts[1], texts[2]};
}

/// The probes of a file. Its notes have the linker's addresses. prelink(8) may have moved the file
/// since. Each note also has the linker's address of .stapsdt.base, which shows the distance.
class UsdtSearch {
 public:
  UsdtSearch(const ElfImage& image, std::string_view provider, std::string_view name)
      : image_(image), provider_(provider), name_(name) {
    if (const Elf64_Shdr* base = image.section(".stapsdt.base")) base_ = base->sh_addr;
  }

  void look_through(std::span<const std::byte> notes) {
    Elf64_Nhdr header;
    while (notes.size() >= sizeof header && found_.sites.size() < max_probes) {
      std::memcpy(&header, notes.data(), sizeof header);
      notes = notes.subspan(sizeof header);
      const std::size_t owner = padded(header.n_namesz), size = padded(header.n_descsz);
      if (owner > notes.size() || size > notes.size() - owner) break;
      if (header.n_type == sdt_note)
        if (const auto note = read_note(notes.subspan(owner, header.n_descsz))) look_at(*note);
      notes = notes.subspan(owner + size);
    }
  }
  UsdtPlaces finish() {
    if (!found_.sites.empty()) found_.others.clear();
    return std::move(found_);
  }

 private:
  void look_at(const UsdtNote& note) {
    if (note.provider != provider_ || note.name != name_) return remember(note);
    const std::uint64_t moved = base_ && note.base ? *base_ - note.base : 0;
    const auto offset = offset_in_file(image_, note.instruction + moved, in_code);
    if (!offset) return;
    EventSite site{.offset = *offset, .arguments = std::string(note.arguments)};
    if (note.semaphore != 0) {
      const auto semaphore = offset_in_file(image_, note.semaphore + moved, in_data);
      if (!semaphore) return;  // without its semaphore, the probe may be skipped
      site.semaphore = *semaphore;
    }
    found_.sites.push_back(std::move(site));
  }
  void remember(const UsdtNote& note) {
    std::string other = fmt::format("{}:{}", note.provider, note.name);
    if (found_.others.size() >= longest_list || !seen_.insert(other).second) return;
    found_.others += fmt::format("{}{}", found_.others.empty() ? "" : ", ", other);
  }

  const ElfImage& image_;
  std::string_view provider_, name_;
  std::optional<std::uint64_t> base_;
  std::set<std::string> seen_;
  UsdtPlaces found_;
};

}  // namespace

FunctionPlaces find_function(const FileBytes& bytes, std::string_view name) {
  const auto image = ElfImage::read(bytes);
  if (!image) return {};
  FunctionSearch search(*image, name);
  search.look_through(SHT_SYMTAB);
  search.look_through(SHT_DYNSYM);
  return search.finish();
}

UsdtPlaces find_usdt(const FileBytes& bytes, std::string_view provider, std::string_view name) {
  const auto image = ElfImage::read(bytes);
  if (!image || !image->is_64bit()) return {};
  const Elf64_Shdr* section = image->section(".note.stapsdt");
  if (!section) return {};
  const auto notes = bytes.read(section->sh_offset, section->sh_size, max_note_bytes);
  if (!notes) return {};
  UsdtSearch search(*image, provider, name);
  search.look_through(*notes);
  return search.finish();
}

FunctionPlaces LocalEventFinder::function(const Fd& file, std::string_view name) {
  return find_function(FileBytes(file.duplicate()), name);
}

UsdtPlaces LocalEventFinder::usdt(const Fd& file, std::string_view provider,
                                  std::string_view name) {
  return find_usdt(FileBytes(file.duplicate()), provider, name);
}

}  // namespace overdue
