#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "symbols/elf_symbols.h"
#include "symbols/file_bytes.h"
#include "symbols/open_file.h"

namespace overdue {

/// The places where a function of an ELF file begins.
struct FunctionPlaces {
  /// Offsets in the file, in ascending order. Several if static functions share a name.
  std::vector<std::uint64_t> offsets;
  std::string nearest;  ///< the most similar name, if there is no function of this name
  bool is_elf = false;
  bool has_names = false;  ///< whether the file has names of functions at all
};

/// Finds the function `name`, written as in the symbol tables (mangled, without a version) or
/// demangled up to its parameters ("ns::Type::call"). The bytes are hostile: damaged parts are
/// skipped. Separate debug files are not searched.
FunctionPlaces find_function(const FileBytes& bytes, std::string_view name);

/// The place of an event in a program: a function, or a statically defined probe (<sys/sdt.h>).
struct EventSite {
  std::uint64_t offset = 0;     ///< file offset of the instruction
  std::uint64_t semaphore = 0;  ///< file offset of a probe's count of listeners; 0: none
  /// a probe's arguments, as the assembler wrote them: "-4@%eax 8@-16(%rbp)"
  std::string arguments = {};
  bool operator==(const EventSite&) const = default;
};
struct UsdtPlaces {
  std::vector<EventSite> sites;  ///< in the order of the file; at most 4096
  std::string others;            ///< the file's probes ("a:b, a:c"), if none has this name
};
/// Finds a statically defined probe. The bytes are hostile: damaged parts are skipped.
UsdtPlaces find_usdt(const FileBytes& bytes, std::string_view provider, std::string_view name);

/// Finds the places in program files where events are attached. Used by one thread.
class EventFinder {
 public:
  explicit EventFinder(OpenFile open) : open_(std::move(open)) {}
  virtual ~EventFinder() = default;
  /// Opens a file that the user has named. An empty Fd, with the reason in errno, on failure.
  Fd open(const std::string& path) const { return open_(path); }
  /// As find_function(). Throws Error if the process that reads the file dies or hangs.
  virtual FunctionPlaces function(const Fd& file, std::string_view name) = 0;
  /// As find_usdt(). Throws Error likewise.
  virtual UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) = 0;

 private:
  OpenFile open_;
};

/// Reads the files in this process: for tests, and for trusted files.
class LocalEventFinder final : public EventFinder {
 public:
  explicit LocalEventFinder(OpenFile open = open_regular) : EventFinder(std::move(open)) {}
  FunctionPlaces function(const Fd& file, std::string_view name) override;
  UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) override;
};

}  // namespace overdue
