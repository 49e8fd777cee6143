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

/// One frame of a stack, and how far to trust it.
struct UnwoundFrame {
  enum class Source : std::uint8_t {
    registers,      ///< where the thread was
    cfi,            ///< exact
    frame_pointer,  ///< the chain of rbp: functions that keep none may be missing before it
    stack_top,      ///< the word at rsp, which follows a call: a leaf without a frame
  };
  std::uint64_t address = 0;
  Source source = Source::registers;
  /// How it is to be named: what a signal interrupted, and a signal's trampoline, as it is.
  AddressKind kind = AddressKind::instruction;
  bool is_signal_frame = false;  ///< the trampoline: the next frame was interrupted
  bool follows_gap = false;      ///< frames before it may be missing: who was there kept no trace
  /// How the next frame is found whenever a thread is here; says nothing where it is not that
  /// simple.
  frame_rule rule{};
};

/// Why a stack has no more frames.
struct UnwindEnd {
  enum class Reason : std::uint8_t {
    bottom,       ///< the thread began here: the stack is complete
    end_of_copy,  ///< the next frame is in memory that was not copied
    no_cfi,       ///< nobody says where the caller of `address` is
    loop,         ///< the next frame would not be further up
    limit,        ///< there are more frames than are wanted
  };
  Reason reason = Reason::bottom;
  std::uint64_t address = 0;  ///< of the last frame
  std::string module;         ///< its mapping's path, as it is: hostile text
};
/// "complete", "no unwind information at 0x1234 in /usr/bin/x", …; fit to be printed.
std::string to_text(const UnwindEnd& end);

struct UnwoundStack {
  std::vector<UnwoundFrame> frames;  ///< innermost first
  UnwindEnd end;
};

/// The mappings of a process at one moment, for many snapshots. Make a new one when it has mapped
/// code since.
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
  std::vector<std::uint64_t> files_;  // of each mapping: the Unwinder's file
};

/// Finds the callers of a thread from a copy of its registers and stack, by .eh_frame; where there
/// is none, by frame pointers. Tables of files are kept, those used last, within a budget. Used by
/// one thread.
class Unwinder {
 public:
  struct Options {
    std::size_t most_frames = 512;
    std::size_t cache_bytes = 256u << 20;  ///< what was used last stays, even if it alone is more
    std::size_t cache_files = 4096;
    CfiTable::Limits limits;
    /// How files are opened: by default as open_mapped_file() does.
    std::function<Fd(pid_t, const Mapping&)> open_mapped;
    /// By default read_vdso().
    std::function<std::vector<std::byte>(pid_t, const Mapping&)> read_vdso;
  };

  Unwinder() : Unwinder(Options()) {}
  explicit Unwinder(Options options);

  UnwoundStack unwind(AddressSpace& space, const StackSnapshot& snapshot);
  /// The bytes of code at `pc`, from the file; fewer, or none, where they cannot be had.
  std::vector<std::byte> code_at(const AddressSpace& space, std::uint64_t pc, std::size_t size);

 private:
  struct File {
    std::uint64_t id;
    FileKey key;
    CfiTable table;
    std::size_t bytes;
  };
  using Files = std::list<File>;  // used last in front
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

/// What the chain of frame pointers says alone: a cross-check for code that keeps them.
struct FramePointerWalk {
  std::vector<std::uint64_t> addresses;  ///< the registers' first
  bool is_complete = false;              ///< it ended as chains should, at 0
};
FramePointerWalk walk_frame_pointers(const AddressSpace& space, const StackSnapshot& snapshot,
                                     std::size_t most_frames = 512);

}  // namespace overdue
