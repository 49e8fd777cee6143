#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "bpf/span.h"
#include "core/user_copy.h"
#include "resolve/file_source.h"
#include "resolve/java_threads.h"
#include "resolve/line_reader.h"
#include "resolve/python_frames.h"
#include "resolve/resolved_stack.h"
#include "symbols/symbolizer.h"
#include "unwind/unwinder.h"

namespace overdue {

/// Makes frames from raw stacks, with the mappings of the process that it was given (a space).
/// LocalResolver uses it in this process, SandboxedResolver in its child. Opens no file itself: its
/// FileSource does. All memory is bounded. Used by one thread.
class StackReader {
 public:
  struct Options {
    /// False: module, offset and build id only (`--no-resolve`). Stacks are unwound all the same.
    bool names = true;
    /// Adds source lines and inlined functions, if `names` is set. Slow; see LineReader.
    bool lines = false;
    LineReader::Options line_reader{};
    std::size_t max_frames = 512;
    std::size_t file_cache_bytes = 128u << 20;  ///< for names, and as much again for unwind tables
    std::size_t max_spaces = 512;
    std::size_t max_mappings = 1u << 20;  ///< total of all spaces
    std::size_t name_cache_bytes = 32u << 20;
    std::size_t perf_map_bytes = 256u << 20;  ///< total of all spaces; the space used last stays

    Options with_names(bool wanted) const {
      Options options = *this;
      options.names = wanted;
      return options;
    }
  };
  static constexpr std::size_t longest_name = 4096;
  /// Most frames of a stack with inlined functions; beyond, inlined functions are left out.
  static constexpr std::size_t max_with_inlined = 2048;

  /// `files` opens the files of the process whose stack is being read.
  StackReader(const Options& options, FileSource& files);
  StackReader(const StackReader&) = delete;
  StackReader& operator=(const StackReader&) = delete;

  bool has_space(std::uint64_t id) const { return spaces_.contains(id); }
  /// Adds the mappings of a process under an id that must not be used again for other mappings.
  void add_space(std::uint64_t id, const ProcessMaps& maps);

  /// Nothing if the space is unknown: an added space may be forgotten at any time. `copy` is user
  /// memory from registers.rsp - USER_RED_ZONE upwards.
  /// With Python's frames, those replace the frames of the interpreter.
  std::optional<ResolvedStack> user_stack(std::uint64_t space, const user_registers& registers,
                                          const UserCopy& copy);
  /// The first address is an instruction, the others are return addresses.
  std::optional<ResolvedStack> recorded_stack(std::uint64_t space,
                                              std::span<const std::uint64_t> addresses);
  /// Looks for the interpreter of Python in a known space.
  FoundPython python_of(std::uint64_t space);
  /// The full names of threads of Java in a known space: see java_thread_names().
  std::vector<NamedThread> java_threads_of(std::uint64_t space, std::span<const NamedThread> cut);

 private:
  struct Place {
    std::uint64_t address;
    AddressKind kind;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const {
      return std::hash<std::uint64_t>()(place.address * 2 + static_cast<unsigned>(place.kind));
    }
  };
  struct PerfMapState {
    KernelTime asked_at{};
    Duration rest{};  // least time before the next request
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
  };
  struct Space {
    Space(ProcessMaps first, ProcessMaps second)
        : addresses(0, std::move(first)), process(0, std::move(second)) {}
    AddressSpace addresses;
    Process process;
    PerfMapState perf_map;
    std::unordered_map<Place, Stack, PlaceHash> frames;  // the last is not inlined
    std::map<std::uint64_t, std::string> build_ids;      // by a mapping's start
    std::map<std::uint64_t, std::string> called;         // by return address
    std::list<std::uint64_t>::iterator order;
  };

  Space* used(std::uint64_t id);
  void forget_oldest();
  static const Mapping* mapping_of(const Space& space, const Place& place);
  Stack frames_at(Space& space, const Place& place);
  Stack keep(Space& space, const Place& place, Stack made);
  void add_lines(const Mapping& mapping, std::uint64_t code, Stack& frames);
  Frame symbol_at(Space& space, std::uint64_t address, AddressKind kind);
  StackFrame unnamed(Space& space, std::uint64_t address, AddressKind kind);
  const std::string& build_id(Space& space, const Mapping& mapping);
  void refresh_perf_map(Space& space, bool is_missed);
  void name_called(Space& space, ResolvedStack& stack);
  const std::string& called_before(Space& space, std::uint64_t return_address);
  void add(Space& space, ResolvedStack& stack, std::uint64_t address, AddressKind kind);
  FoundPython find_python_in(const Space& space, const ReadMemory& memory);

  Options options_;
  FileSource& files_;
  Symbolizer symbolizer_;
  Unwinder unwinder_;
  LineReader line_reader_;
  PythonFrames python_;
  std::unordered_map<std::uint64_t, Space> spaces_;
  std::list<std::uint64_t> order_;  // most recently used first
  std::size_t mappings_ = 0, frame_bytes_ = 0, perf_map_bytes_ = 0;
};

}  // namespace overdue
