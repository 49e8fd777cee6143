#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/file_bytes.h"

namespace overdue {

/// The headers of an ELF file, 32-bit ones widened, and the data that headers alone lead to. The
/// bytes are hostile: counts are bounded, every offset is checked when it is followed, and invalid
/// parts are skipped. libelf is not used, for three reasons: for elfutils, a crash on a hostile
/// file is no security bug; libelf maps files or loads whole sections, which risks a SIGBUS or
/// unbounded memory; and all that is needed of it fits on one page.
class ElfImage {
 public:
  /// Nothing if `bytes` are not an ELF file of this machine's byte order. `bytes` must outlive the
  /// image.
  static std::optional<ElfImage> read(const FileBytes& bytes);

  const FileBytes& bytes() const { return *bytes_; }
  std::uint16_t machine() const { return machine_; }
  bool is_64bit() const { return is_64bit_; }
  /// Only segments of type PT_LOAD, PT_NOTE and PT_GNU_EH_FRAME.
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  /// Includes section 0, so that section numbers are indices.
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name_of(const Elf64_Shdr& section) const;
  /// The first section with this name that has bytes in the file.
  const Elf64_Shdr* section(std::string_view name) const;
  const Elf64_Shdr* section_of_type(std::uint32_t type) const;

  /// As lower-case hexadecimal; empty without one.
  std::string build_id() const;
  struct DebugLink {
    std::string name;  ///< a file name, without any '/'
    std::uint32_t crc = 0;
  };
  std::optional<DebugLink> debug_link() const;
  /// The lowest virtual address of a PT_LOAD segment.
  std::optional<std::uint64_t> load_address() const;
  /// Whether `address` is in an executable segment.
  bool is_code(std::uint64_t address) const;

 private:
  explicit ElfImage(const FileBytes& bytes) : bytes_(&bytes) {}
  template <typename Header, typename Segment, typename Section>
  bool read_headers();
  std::string build_id_in(std::uint64_t offset, std::uint64_t size, std::uint64_t align) const;

  const FileBytes* bytes_;
  std::uint16_t machine_ = 0;
  bool is_64bit_ = false;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::byte> section_names_;
};

/// The NUL-terminated text at `offset` of a string table; empty if there is none.
std::string_view string_at(const std::vector<std::byte>& strings, std::uint64_t offset);

}  // namespace overdue
