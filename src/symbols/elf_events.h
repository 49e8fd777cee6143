#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "symbols/file_bytes.h"

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

/// Where a statically defined probe (<sys/sdt.h>) stands.
struct UsdtSite {
  std::uint64_t offset = 0;     ///< of its instruction, in the file
  std::uint64_t semaphore = 0;  ///< of the count of who listens, in the file; 0: there is none
  std::string arguments = {};   ///< as the assembler has written them: "-4@%eax 8@-16(%rbp)"
  bool operator==(const UsdtSite&) const = default;
};
struct UsdtPlaces {
  std::vector<UsdtSite> sites;  ///< in the order of the file; at most 4096
  std::string others;           ///< names of probes, where there is none of this name: "a:b, a:c"
};
/// The bytes are hostile: what is damaged is left out.
UsdtPlaces find_usdt(const FileBytes& bytes, std::string_view provider, std::string_view name);

/// Looks into files of programs for what events are attached to. Used by one thread.
class EventFinder {
 public:
  virtual ~EventFinder() = default;
  /// As find_function(). Throws Error where who reads the file did not survive it.
  virtual FunctionPlaces function(const Fd& file, std::string_view name) = 0;
  /// As find_usdt(). Throws Error likewise.
  virtual UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) = 0;
};

/// Reads them in this process: for tests, and for who trusts the files.
class LocalEventFinder final : public EventFinder {
 public:
  FunctionPlaces function(const Fd& file, std::string_view name) override;
  UsdtPlaces usdt(const Fd& file, std::string_view provider, std::string_view name) override;
};

}  // namespace overdue
