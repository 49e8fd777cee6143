#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/elf_symbols.h"
#include "symbols/file_key.h"
#include "symbols/kernel_symbols.h"
#include "symbols/perf_map.h"
#include "symbols/process_maps.h"

namespace overdue {

/// The kind of an address of a stack. After a call that never returns (abort), another function may
/// begin, so a return address is looked up as the call before it.
enum class AddressKind { instruction, return_address };

/// An address and what is known about it. All text is safe to print.
struct Frame {
  std::string symbol{};  ///< demangled; empty if unknown
  /// Offset in the symbol; without a symbol, in the module's file or mapping; without a module, the
  /// address.
  std::uint64_t offset = 0;
  /// Path of the file; "[vdso]", "[jit]", "[anon]", "[heap]", …; "[kernel]" or "[ext4]"; empty if
  /// nothing is mapped.
  std::string module{};
  std::string build_id{};  ///< of the file, if it has one
  /// The virtual address of the instruction, or of the call, in that file.
  std::optional<std::uint64_t> code{};
};

/// A frame as shown to the user: "openat64"; without a symbol "[libfoo.so+0x1234]" (an offset in
/// the file, as in the kernel's own stacks with build ids), "[anon+0x40]",
/// "[kernel+0xffffffff81000000]"; "[unknown]" if nothing is mapped. Never empty.
std::string to_text(const Frame& frame);

/// Whether the mapping may hold generated code, which a perf map may name.
bool may_hold_made_code(const Mapping& mapping);

/// Opens a debug file for a process, as a Symbolizer does by default: in Overdue's root, then in
/// the process's root.
Fd open_debug_file(pid_t pid, const std::string& path);

/// A process at one moment, live or recorded. Must be read again after the process has mapped
/// files.
class Process {
 public:
  Process(pid_t pid, ProcessMaps maps, PerfMap perf_map = {});
  /// Nothing if the process is gone or Overdue may not read its maps.
  static std::optional<Process> read(pid_t pid);

  pid_t pid() const { return pid_; }
  const ProcessMaps& maps() const { return maps_; }
  const PerfMap& perf_map() const { return perf_map_; }
  /// Compilers add to a perf map while the program runs.
  void set_perf_map(PerfMap perf_map) { perf_map_ = std::move(perf_map); }

 private:
  friend class Symbolizer;
  pid_t pid_;
  ProcessMaps maps_;
  PerfMap perf_map_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      files_;  // mapping's start → the Symbolizer's file
};

/// Names addresses, of the kernel and of processes. Keeps the most recently used files within a
/// budget of bytes. Files are identified by device, inode, size and change time, not by the build
/// id that they claim: with a forged one, a process could lend its names to others. Used by one
/// thread.
class Symbolizer {
 public:
  struct Options {
    std::size_t cache_bytes = 256u << 20;  ///< the file used last stays, even if it alone is larger
    std::size_t cache_files = 4096;
    ElfLimits limits;
    /// Opens mapped files; default: open_mapped_file().
    std::function<Fd(pid_t, const Mapping&)> open_mapped;
    /// Opens separate debug files; default: open_debug_file().
    std::function<Fd(pid_t, const std::string& path)> open_debug_file;
    /// Reads a [vdso]; default: read_vdso().
    std::function<std::vector<std::byte>(pid_t, const Mapping&)> read_vdso;
  };
  /// The cost so far.
  struct Cost {
    std::size_t loads = 0;
    std::size_t evictions = 0;
    std::size_t files = 0;
    std::size_t bytes = 0;
  };

  explicit Symbolizer(KernelSymbols kernel = {});
  Symbolizer(KernelSymbols kernel, Options options);

  Frame kernel_frame(std::uint64_t address, AddressKind kind = AddressKind::instruction) const;
  Frame user_frame(Process& process, std::uint64_t address,
                   AddressKind kind = AddressKind::instruction);

  const KernelSymbols& kernel_symbols() const { return kernel_; }
  const Cost& cost() const { return cost_; }

 private:
  struct File {
    std::uint64_t id;
    FileKey key;
    ElfSymbols symbols;
    std::size_t bytes;
  };
  using Files = std::list<File>;  // most recently used first

  const ElfSymbols* file_of(Process& process, const Mapping& mapping);
  const File* load(const Process& process, const Mapping& mapping);
  const File* load_vdso(const Process& process, const Mapping& mapping);
  const File* cached(const FileKey& key);
  const File* keep(const FileKey& key, ElfSymbols symbols);

  KernelSymbols kernel_;
  Options options_;
  Files files_;
  std::map<FileKey, Files::iterator> by_key_;
  std::unordered_map<std::uint64_t, Files::iterator> by_id_;
  std::uint64_t last_id_ = 0;
  Cost cost_;
};

}  // namespace overdue
