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

/// What an address of a stack is. Behind a call that never returns (abort) another function may
/// begin, so a return address is looked up as the call before it.
enum class AddressKind { instruction, return_address };

/// An address, explained as far as it could be. All text is fit to be printed.
struct Frame {
  std::string symbol{};      ///< demangled; empty where nobody knows
  std::uint64_t offset = 0;  ///< into the symbol; without one into the module's file, or mapping;
                             ///< without a module it is the address
  std::string module{};      ///< the file's path; "[vdso]", "[jit]", "[anon]", "[heap]", …;
                             ///< "[kernel]" or "[ext4]"; empty where nothing is mapped
  std::string build_id{};    ///< of the file, if it has one
  /// The virtual address of the instruction, or of the call, in that file.
  std::optional<std::uint64_t> code{};
};

/// How a frame is shown: "openat64"; where nobody knows "[libfoo.so+0x1234]" (an offset into the
/// file, as the kernel's own stacks with build ids have), "[anon+0x40]",
/// "[kernel+0xffffffff81000000]"; and
/// "[unknown]" where nothing is mapped. It never is empty.
std::string to_text(const Frame& frame);

/// Whether a program can have made its code there: what a perf map may name.
bool may_hold_made_code(const Mapping& mapping);

/// Opens the file of symbols for a process where a Symbolizer does so by default: here, and then as
/// the process sees it.
Fd open_debug_file(pid_t pid, const std::string& path);

/// A process at one moment, live or recorded. Read it anew when it has mapped files since.
class Process {
 public:
  Process(pid_t pid, ProcessMaps maps, PerfMap perf_map = {});
  /// Nothing where it is gone or we may not look.
  static std::optional<Process> read(pid_t pid);

  pid_t pid() const { return pid_; }
  const ProcessMaps& maps() const { return maps_; }
  const PerfMap& perf_map() const { return perf_map_; }
  /// Compilers add to theirs while their programs run.
  void set_perf_map(PerfMap perf_map) { perf_map_ = std::move(perf_map); }

 private:
  friend class Symbolizer;
  pid_t pid_;
  ProcessMaps maps_;
  PerfMap perf_map_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      files_;  // mapping's start → the Symbolizer's file
};

/// Names addresses, of the kernel and of processes. Files are kept, those used last, within a
/// budget of bytes; they are told apart by device, inode, size and time of change, not by the build
/// id they claim, for a process could lend its names to others with a forged one. Used by one
/// thread.
class Symbolizer {
 public:
  struct Options {
    std::size_t cache_bytes = 256u << 20;  ///< what was used last stays, even if it alone is more
    std::size_t cache_files = 4096;
    ElfLimits limits;
    /// How files are opened: by default as open_mapped_file() does.
    std::function<Fd(pid_t, const Mapping&)> open_mapped;
    /// Separate debug files: by default those of this machine, then those the process sees.
    std::function<Fd(pid_t, const std::string& path)> open_debug_file;
    /// By default read_vdso().
    std::function<std::vector<std::byte>(pid_t, const Mapping&)> read_vdso;
  };
  /// What it has cost so far.
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
  using Files = std::list<File>;  // used last in front

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
