#include "resolve/stack_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "symbols/elf_image.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

// A growing perf map is read again, but not all the time.
constexpr Duration after_miss = 50ms;
constexpr Duration after_hit = 1s;
constexpr std::size_t max_called = 1u << 12;  // of each space
constexpr unsigned reading_share = 20;        // reading takes at most 1/20 of the time

ProcessMaps copy_of(const ProcessMaps& maps) {
  ProcessMaps copy;
  for (const Mapping& mapping : maps.all()) copy.add(mapping);
  return copy;
}

StackEnd end_of(UnwindEnd::Reason reason) {
  switch (reason) {
    case UnwindEnd::Reason::bottom:
      return StackEnd::complete;
    case UnwindEnd::Reason::end_of_copy:
      return StackEnd::end_of_copy;
    case UnwindEnd::Reason::no_cfi:
      return StackEnd::no_cfi;
    case UnwindEnd::Reason::loop:
      return StackEnd::loop;
    case UnwindEnd::Reason::limit:
      return StackEnd::limit;
  }
  return StackEnd::no_cfi;
}

std::string cut(std::string text) {
  if (text.size() > StackReader::longest_name)
    text = made_printable(text, StackReader::longest_name);
  return text;
}

std::size_t bytes_of(const StackFrame& frame) {
  return sizeof frame + 64 + frame.name.size() + frame.module.size() + frame.build_id.size() +
         frame.file.size();
}

std::size_t bytes_of(const Stack& frames) {
  std::size_t bytes = 0;
  for (const StackFrame& frame : frames) bytes += bytes_of(frame);
  return bytes;
}

Symbolizer::Options symbolizer_options(const StackReader::Options& options, FileSource& files) {
  return {
      .cache_bytes = options.file_cache_bytes,
      .limits = {},
      .open_mapped = [from = &files](pid_t,
                                     const Mapping& mapping) { return from->mapped_file(mapping); },
      .open_debug_file = [from = &files](
                             pid_t, const std::string& path) { return from->debug_file(path); },
      .read_vdso = [from = &files](pid_t, const Mapping& mapping) { return from->vdso(mapping); }};
}

Unwinder::Options unwinder_options(const StackReader::Options& options, FileSource& files) {
  return {
      .max_frames = options.max_frames,
      .cache_bytes = options.file_cache_bytes,
      .limits = {},
      .open_mapped = [from = &files](pid_t,
                                     const Mapping& mapping) { return from->mapped_file(mapping); },
      .read_vdso = [from = &files](pid_t, const Mapping& mapping) { return from->vdso(mapping); }};
}

/// Names an outermost frame in a C library that has no names for functions that it does not export
/// (clone3). No program begins there, only threads do.
void name_thread_start(ResolvedStack& stack) {
  StackFrame& last = stack.frames.back();
  if (stack.end != StackEnd::complete || !last.name.empty() || !is_of_c_library(last) ||
      !(last.rule.flags & FRAME_BOTTOM))
    return;
  last.name = thread_start;
  last.offset = 0;
  --stack.unresolved;
}

}  // namespace

StackReader::StackReader(const Options& options, FileSource& files)
    : options_(options),
      files_(files),
      symbolizer_({}, symbolizer_options(options, files)),
      unwinder_(unwinder_options(options, files)),
      line_reader_(options.line_reader, files) {}

void StackReader::add_space(std::uint64_t id, const ProcessMaps& maps) {
  if (has_space(id)) return;
  mappings_ += maps.all().size();
  const auto [added, is_new] = spaces_.try_emplace(id, copy_of(maps), copy_of(maps));
  perf_map_bytes_ += added->second.process.perf_map().memory_bytes();
  added->second.order = order_.insert(order_.begin(), id);
  while (order_.size() > 1 &&
         (order_.size() > options_.max_spaces || mappings_ > options_.max_mappings))
    forget_oldest();
}

void StackReader::forget_oldest() {
  const auto oldest = spaces_.find(order_.back());
  const Space& space = oldest->second;
  mappings_ -= space.process.maps().all().size();
  perf_map_bytes_ -= space.process.perf_map().memory_bytes();
  for (const auto& [place, frames] : space.frames) frame_bytes_ -= bytes_of(frames);
  spaces_.erase(oldest);
  order_.pop_back();
}

StackReader::Space* StackReader::used(std::uint64_t id) {
  const auto found = spaces_.find(id);
  if (found == spaces_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second.order);
  return &found->second;
}

std::optional<ResolvedStack> StackReader::user_stack(std::uint64_t id,
                                                     const user_registers& registers,
                                                     const UserCopy& copy) {
  Space* space = used(id);
  if (!space) return std::nullopt;
  line_reader_.begin_stack();
  const UnwoundStack unwound =
      unwinder_.unwind(space->addresses, snapshot_of(registers, copy.stack));
  ResolvedStack stack{.end = end_of(unwound.end.reason)};
  if (stack.end == StackEnd::no_cfi) stack.end_module = cut(printable(unwound.end.module));
  for (const UnwoundFrame& from : unwound.frames) {
    const std::size_t first = stack.frames.size();  // first frame inlined here, or the frame itself
    add(*space, stack, from.address, from.kind);
    stack.frames.back().is_guessed = from.source == UnwoundFrame::Source::frame_pointer ||
                                     from.source == UnwoundFrame::Source::stack_top;
    stack.frames.back().is_signal = from.is_signal_frame;
    stack.frames.back().rule = from.rule;
    stack.frames[first].follows_gap = from.follows_gap;
  }
  if (options_.names) {
    name_called(*space, stack);
    name_thread_start(stack);
    if (!copy.python.empty())
      merge_python(stack, python_.calls(copy.python, {.memory = [&] { return files_.memory(); },
                                                      .find =
                                                          [&](const ReadMemory& memory) {
                                                            return find_python_in(*space, memory);
                                                          }}));
  }
  return stack;
}

FoundPython StackReader::python_of(std::uint64_t id) {
  const Space* space = used(id);
  if (!space) return {};
  const Fd memory = files_.memory();
  if (!memory) return {.support = PythonSupport::unreadable};
  return find_python_in(*space, memory_reader(memory));
}

FoundPython StackReader::find_python_in(const Space& space, const ReadMemory& memory) {
  FoundPython found;
  for (const Mapping& mapping : space.process.maps().all()) {
    if (!may_be_python(mapping)) continue;
    found = find_python(mapping, FileBytes(files_.mapped_file(mapping)), memory);
    if (found.support != PythonSupport::none) break;
  }
  return found;
}

std::vector<NamedThread> StackReader::java_threads_of(std::uint64_t id,
                                                      std::span<const NamedThread> cut) {
  const Space* space = used(id);
  const Fd memory = space ? files_.memory() : Fd();
  if (!memory) return {};
  const auto& mappings = space->process.maps().all();
  const auto jvm = std::ranges::find_if(mappings, may_be_jvm);
  if (jvm == mappings.end()) return {};
  return java_thread_names(*jvm, FileBytes(files_.mapped_file(*jvm)), memory_reader(memory), cut);
}

/// Names a frame after the function in the caller's call instruction. An exported function that
/// ends in a jump has left its frame to a function that may have no name (fopen() of the C
/// library).
void StackReader::name_called(Space& space, ResolvedStack& stack) {
  for (std::size_t i = 0; i + 1 < stack.frames.size(); ++i) {
    StackFrame& frame = stack.frames[i];
    const StackFrame& caller = stack.frames[i + 1];
    if (!frame.name.empty() || frame.module.empty() || frame.is_signal || frame.is_guessed ||
        caller.is_guessed || caller.follows_gap)
      continue;
    const std::string& called = called_before(space, caller.address);
    if (called.empty()) continue;
    frame.name = called;
    frame.offset = 0;  // the known offset is into another function
    frame.is_named_by_call = true;
    --stack.unresolved;
  }
}

/// The function that the call before `return_address` names, if it goes through a stub of the
/// procedure linkage table; else empty.
const std::string& StackReader::called_before(Space& space, std::uint64_t return_address) {
  constexpr std::size_t call_bytes = 5;  // e8, then the distance from the next instruction
  constexpr std::string_view of_stubs = "@plt";
  if (space.called.size() >= max_called) space.called.clear();
  const auto [known, is_new] = space.called.try_emplace(return_address);
  if (!is_new) return known->second;
  const auto code = unwinder_.code_at(space.addresses, return_address - call_bytes, call_bytes);
  if (code.size() != call_bytes || code[0] != std::byte{0xe8}) return known->second;
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  const Frame stub =
      symbol_at(space, return_address + static_cast<std::uint64_t>(std::int64_t{distance}),
                AddressKind::instruction);
  if (stub.offset == 0 && stub.symbol.ends_with(of_stubs))
    known->second = cut(stub.symbol.substr(0, stub.symbol.size() - of_stubs.size()));
  return known->second;
}

std::optional<ResolvedStack> StackReader::recorded_stack(std::uint64_t id,
                                                         std::span<const std::uint64_t> addresses) {
  Space* space = used(id);
  if (!space) return std::nullopt;
  line_reader_.begin_stack();
  ResolvedStack stack{.end = StackEnd::recorded};
  for (const std::uint64_t address :
       addresses.first(std::min(addresses.size(), options_.max_frames)))
    add(*space, stack, address,
        stack.frames.empty() ? AddressKind::instruction : AddressKind::return_address);
  return stack;
}

void StackReader::add(Space& space, ResolvedStack& stack, std::uint64_t address, AddressKind kind) {
  Stack added = frames_at(space, {address, kind});
  if (stack.frames.size() + added.size() > max_with_inlined)
    added.erase(added.begin(), added.end() - 1);
  for (StackFrame& frame : added) {
    stack.unresolved += options_.names ? frame.name.empty() : frame.module.empty();
    stack.frames.push_back(std::move(frame));
  }
}

const Mapping* StackReader::mapping_of(const Space& space, const Place& place) {
  const bool is_behind = place.kind == AddressKind::return_address && place.address > 0;
  return space.process.maps().find(place.address - (is_behind ? 1 : 0));
}

Stack StackReader::frames_at(Space& space, const Place& place) {
  const auto known = space.frames.find(place);
  if (known != space.frames.end()) return known->second;
  const auto [address, kind] = place;
  if (!options_.names) return keep(space, place, {unnamed(space, address, kind)});
  Frame found = symbol_at(space, address, kind);
  const auto code = found.code;
  const bool is_jit = found.module == "[jit]";
  Stack made{{.address = address,
              .name = cut(std::move(found.symbol)),
              .module = cut(std::move(found.module)),
              .offset = found.offset,
              .build_id = std::move(found.build_id),
              .is_jit = is_jit}};
  const Mapping* mapping = mapping_of(space, place);
  if (mapping && may_hold_made_code(*mapping)) return made;  // the memory may soon hold other code
  if (options_.lines && mapping && code) {
    if (line_reader_.is_late()) return made;  // the next stack may have the time
    // The innermost address is the instruction after the one that made the call.
    const bool is_behind = kind == AddressKind::instruction && *code > 0;
    add_lines(*mapping, *code - (is_behind ? 1 : 0), made);
  }
  return keep(space, place, std::move(made));
}

Stack StackReader::keep(Space& space, const Place& place, Stack made) {
  if (frame_bytes_ > options_.name_cache_bytes) {
    for (auto& [id, each] : spaces_) each.frames.clear();
    frame_bytes_ = 0;
  }
  frame_bytes_ += bytes_of(made);
  space.frames.emplace(place, made);
  return made;
}

void StackReader::add_lines(const Mapping& mapping, std::uint64_t code, Stack& frames) {
  Stack inlined;
  StackFrame& outer = frames.back();
  for (SourceLine& line : line_reader_.find(mapping, code)) {
    if (!line.is_inlined) {
      if (outer.name.empty()) {
        outer.name = cut(std::move(line.function));
        if (!outer.name.empty()) outer.offset = 0;  // unknown
      }
      outer.file = cut(std::move(line.file));
      outer.line = line.line;
      break;
    }
    StackFrame frame{.address = outer.address,
                     .name = cut(std::move(line.function)),
                     .module = outer.module,
                     .build_id = outer.build_id,
                     .file = cut(std::move(line.file)),
                     .line = line.line,
                     .is_inlined = true};
    if (frame.name.empty()) frame.offset = outer.address - mapping.start + mapping.file_offset;
    inlined.push_back(std::move(frame));
  }
  frames.insert(frames.begin(), std::make_move_iterator(inlined.begin()),
                std::make_move_iterator(inlined.end()));
}

Frame StackReader::symbol_at(Space& space, std::uint64_t address, AddressKind kind) {
  const Mapping* mapping = mapping_of(space, {address, kind});
  const bool is_made = mapping && may_hold_made_code(*mapping);
  if (is_made) refresh_perf_map(space, false);
  Frame found = symbolizer_.user_frame(space.process, address, kind);
  if (is_made && found.symbol.empty()) {
    refresh_perf_map(space, true);
    found = symbolizer_.user_frame(space.process, address, kind);
  }
  return found;
}

// Like Symbolizer::user_frame() without a symbol.
StackFrame StackReader::unnamed(Space& space, std::uint64_t address, AddressKind kind) {
  const Mapping* mapping = mapping_of(space, {address, kind});
  if (!mapping) return {.address = address, .offset = address};
  return {.address = address,
          .module = mapping->path.empty() ? "[anon]" : cut(printable(mapping->path)),
          .offset = address - mapping->start + mapping->file_offset,
          .build_id = build_id(space, *mapping)};
}

const std::string& StackReader::build_id(Space& space, const Mapping& mapping) {
  const auto [found, is_new] = space.build_ids.try_emplace(mapping.start);
  if (!is_new) return found->second;
  const bool is_vdso = mapping.path == "[vdso]";
  const std::vector<std::byte> memory = is_vdso ? files_.vdso(mapping) : std::vector<std::byte>();
  const FileBytes bytes = is_vdso             ? FileBytes(memory)
                          : mapping.is_file() ? FileBytes(files_.mapped_file(mapping))
                                              : FileBytes(std::span<const std::byte>());
  if (const auto image = ElfImage::read(bytes)) found->second = image->build_id();
  return found->second;
}

void StackReader::refresh_perf_map(Space& space, bool is_missed) {
  PerfMapState& state = space.perf_map;
  const KernelTime now = KernelClock::now();
  const bool is_first = state.asked_at == KernelTime{};
  const Duration rest = std::max(state.rest, is_missed ? after_miss : after_hit);
  if (!is_first && now - state.asked_at < rest) return;
  state.asked_at = now;
  const PerfMap::File file = files_.perf_map();
  struct stat status{};
  if (!file.fd || fstat(file.fd.get(), &status) != 0) return;  // the present map may still be right
  const PerfMapState known = state;
  state.device = status.st_dev;
  state.inode = status.st_ino;
  state.size = static_cast<std::uint64_t>(status.st_size);
  state.seconds = status.st_mtim.tv_sec;
  state.nanoseconds = status.st_mtim.tv_nsec;
  if (known.device == state.device && known.inode == state.inode && known.size == state.size &&
      known.seconds == state.seconds && known.nanoseconds == state.nanoseconds)
    return;
  perf_map_bytes_ -= space.process.perf_map().memory_bytes();
  space.process.set_perf_map({});
  space.process.set_perf_map(PerfMap::read(file.fd, file.owner));
  perf_map_bytes_ += space.process.perf_map().memory_bytes();
  state.rest = (KernelClock::now() - now) * reading_share;
  for (auto& [id, other] : spaces_) {  // other spaces read theirs again
    if (perf_map_bytes_ <= options_.perf_map_bytes) break;
    if (&other == &space) continue;
    perf_map_bytes_ -= other.process.perf_map().memory_bytes();
    other.process.set_perf_map({});
    perf_map_bytes_ += other.process.perf_map().memory_bytes();
    other.perf_map = {};
  }
}

}  // namespace overdue
