#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/callers.h"
#include "symbols/file_key.h"
#include "symbols/process_maps.h"
#include "symbols/symbolizer.h"
#include "unwind/cfi_table.h"
#include "unwind/stack_snapshot.h"

namespace overdue {

/// One frame of a stack, and its reliability.
struct UnwoundFrame {
  enum class Source : std::uint8_t {
    registers,      ///< the thread's own registers
    cfi,            ///< exact
    frame_pointer,  ///< the chain of rbp: functions without a frame may be missing before it
    stack_top,      ///< the word at rsp, which follows a call: a leaf without a frame
  };
  std::uint64_t address = 0;
  Source source = Source::registers;
  /// The kind of look-up for the name: code that a signal interrupted, and a signal's trampoline,
  /// are instructions.
  AddressKind kind = AddressKind::instruction;
  bool is_signal_frame = false;  ///< the trampoline: the next frame was interrupted
  bool follows_gap = false;      ///< frames before it may be missing without a trace
  /// The rule that finds the next frame of any thread at this address; empty if no such simple rule
  /// exists.
  frame_rule rule{};
};

/// Why a stack has no more frames.
struct UnwindEnd {
  enum class Reason : std::uint8_t {
    bottom,       ///< the thread began here: the stack is complete
    end_of_copy,  ///< the next frame is in memory that was not copied
    no_cfi,       ///< no unwind information for the caller of `address`
    loop,         ///< the next frame would not be higher on the stack
    limit,        ///< there are more frames than the limit
  };
  Reason reason = Reason::bottom;
  std::uint64_t address = 0;  ///< address of the last frame
  std::string module;         ///< path of the last frame's mapping, raw: hostile text
};
/// "complete", "no unwind information at 0x1234 in /usr/bin/x", …; safe to print.
std::string to_text(const UnwindEnd& end);

struct UnwoundStack {
  std::vector<UnwoundFrame> frames;  ///< innermost first
  UnwindEnd end;
};

/// The mappings of a process at one moment, for many snapshots. A new one is needed after the
/// process has mapped code.
class AddressSpace {
 public:
  AddressSpace(pid_t pid, ProcessMaps maps)
      : pid_(pid), maps_(std::move(maps)), files_(maps_.all().size(), not_opened) {}

  pid_t pid() const { return pid_; }
  const ProcessMaps& maps() const { return maps_; }
  bool is_code(std::uint64_t address) const {
    const Mapping* mapping = maps_.find(address);
    return mapping && mapping->is_executable;
  }

 private:
  friend class Unwinder;
  static constexpr std::uint64_t not_opened = 0, no_file = 1;
  pid_t pid_;
  ProcessMaps maps_;
  std::vector<std::uint64_t> files_;  // by mapping: id of the Unwinder's file
};

/// Finds the callers of a thread from a copy of its registers and stack, by .eh_frame; without one,
/// by frame pointers. Keeps the tables of the most recently used files within a budget of bytes.
/// Used by one thread.
class Unwinder {
 public:
  struct Options {
    std::size_t max_frames = 512;
    std::size_t cache_bytes = 256u << 20;  ///< the file used last stays, even if it alone is larger
    std::size_t cache_files = 4096;
    CfiTable::Limits limits;
    /// Opens mapped files; default: open_mapped_file().
    std::function<Fd(pid_t, const Mapping&)> open_mapped;
    /// Reads a [vdso]; default: read_vdso().
    std::function<std::vector<std::byte>(pid_t, const Mapping&)> read_vdso;
  };

  Unwinder() : Unwinder(Options()) {}
  explicit Unwinder(Options options);

  UnwoundStack unwind(AddressSpace& space, const StackSnapshot& snapshot);
  /// The bytes of code at `pc`, from the file; fewer at the end of the mapping, none if they are
  /// unavailable.
  std::vector<std::byte> code_at(const AddressSpace& space, std::uint64_t pc, std::size_t size);

 private:
  struct File {
    std::uint64_t id;
    FileKey key;
    CfiTable table;
    std::size_t bytes;
  };
  using Files = std::list<File>;  // most recently used first
  struct CachedRow {
    std::uint64_t file = 0, address = 0;
    bool has_row = false;
    CfiRow row;
  };
  struct Found {
    const CfiTable* table;
    const CfiRow* row;
  };
  class Walk;

  std::optional<Found> row_of(AddressSpace& space, std::uint64_t pc);
  const File* file_of(AddressSpace& space, const Mapping& mapping);
  const File* load(const AddressSpace& space, const Mapping& mapping);
  const File* load_vdso(const AddressSpace& space, const Mapping& mapping);
  const File* cached(const FileKey& key);
  const File* keep(const FileKey& key, CfiTable table);

  Options options_;
  Files files_;
  std::map<FileKey, Files::iterator> by_key_;
  std::unordered_map<std::uint64_t, Files::iterator> by_id_;
  std::uint64_t last_id_ = AddressSpace::no_file;
  std::size_t bytes_ = 0;
  std::vector<CachedRow> rows_;  // by a hash of file and address
};

/// The stack by the chain of frame pointers alone: a cross-check for code that keeps them.
struct FramePointerWalk {
  std::vector<std::uint64_t> addresses;  ///< rip first
  bool is_complete = false;              ///< the chain ended properly, at 0
};
FramePointerWalk walk_frame_pointers(const AddressSpace& space, const StackSnapshot& snapshot,
                                     std::size_t max_frames = 512);

}  // namespace overdue
