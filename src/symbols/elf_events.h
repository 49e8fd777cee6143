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

/// Where a function of an ELF file begins.
struct FunctionPlaces {
  /// Offsets in the file, in ascending order. Several where static functions share a name.
  std::vector<std::uint64_t> offsets;
  std::string nearest;  ///< a name like it, where there is none of this name
  bool is_elf = false;
  bool has_names = false;  ///< whether the file has names of functions at all
};

/// Looks for `name` as the symbol tables have it (mangled, without a version) or demangled up to
/// its parameters ("ns::Type::call"). The bytes are hostile: what is damaged is left out. Separate
/// debug files are not looked into.
FunctionPlaces find_function(const FileBytes& bytes, std::string_view name);

/// Where an event of a program is: a function, or a statically defined probe (<sys/sdt.h>).
struct EventSite {
  std::uint64_t offset = 0;     ///< of its instruction, in the file
  std::uint64_t semaphore = 0;  ///< of a probe's count of listeners, in the file; 0: there is none
  std::string arguments = {};   ///< of a probe, as the assembler wrote them: "-4@%eax 8@-16(%rbp)"
  bool operator==(const EventSite&) const = default;
};
struct UsdtPlaces {
  std::vector<EventSite> sites;  ///< in the order of the file; at most 4096
  std::string others;            ///< names of probes, where there is none of this name: "a:b, a:c"
};
/// The bytes are hostile: what is damaged is left out.
UsdtPlaces find_usdt(const FileBytes& bytes, std::string_view provider, std::string_view name);

/// Looks into files of programs for what events are attached to. Used by one thread.
class EventFinder {
 public:
  explicit EventFinder(OpenFile open) : open_(std::move(open)) {}
  virtual ~EventFinder() = default;
  /// Opens a file that the user has named. An empty Fd, with the reason in errno, where that cannot
  /// be.
  Fd open(const std::string& path) const { return open_(path); }
  /// As find_function(). Throws Error where who reads the file did not survive it.
  virtual FunctionPlaces function(const Fd& file, std::string_view name) = 0;
  /// As find_usdt(). Throws Error likewise.
  virtual UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) = 0;

 private:
  OpenFile open_;
};

/// Reads them in this process: for tests, and for who trusts the files.
class LocalEventFinder final : public EventFinder {
 public:
  explicit LocalEventFinder(OpenFile open = open_regular) : EventFinder(std::move(open)) {}
  FunctionPlaces function(const Fd& file, std::string_view name) override;
  UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) override;
};

}  // namespace overdue
