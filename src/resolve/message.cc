#include "resolve/message.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "resolve/packet.h"

namespace overdue::resolve_message {
namespace {

enum class Kind : std::uint8_t {
  space = 1,
  user_stack,
  recorded_stack,
  file,
  probe,
  python_of,
  java_threads_of,
  wanted = 64,
  frames,
  python,
  java_threads,
};

enum FrameFlag : std::uint8_t {
  inlined = 1,
  kernel = 2,
  jit = 4,
  guessed = 8,
  signal = 16,
  gap = 32,
  by_call = 64,
  all_frame_flags = 127,
};

enum MappingFlag : std::uint8_t { executable = 1, deleted = 2, all_mapping_flags = 3 };

// A packet is closed once it has this many bytes, before the next element.
constexpr std::size_t full_at = 32u << 10;

constexpr std::size_t longest_thread_name = 256;
constexpr std::size_t max_python = sizeof(python_stack) + PYTHON_FRAMES * sizeof(python_frame);

class Writer : public PacketWriter {
 public:
  explicit Writer(Kind kind) { put(kind); }
};

using Reader = PacketReader;

void put_mapping(Writer& writer, const Mapping& mapping) {
  writer.put(mapping.start);
  writer.put(mapping.end);
  writer.put(mapping.file_offset);
  writer.put(mapping.device_major);
  writer.put(mapping.device_minor);
  writer.put(mapping.inode);
  writer.put(static_cast<std::uint8_t>((mapping.is_executable ? executable : 0) |
                                       (mapping.is_deleted ? deleted : 0)));
  writer.put_text(mapping.path);
}

Mapping get_mapping(Reader& reader) {
  Mapping mapping;
  mapping.start = reader.get<std::uint64_t>();
  mapping.end = reader.get<std::uint64_t>();
  mapping.file_offset = reader.get<std::uint64_t>();
  mapping.device_major = reader.get<std::uint32_t>();
  mapping.device_minor = reader.get<std::uint32_t>();
  mapping.inode = reader.get<std::uint64_t>();
  const auto flags = reader.get<std::uint8_t>();
  mapping.is_executable = (flags & executable) != 0;
  mapping.is_deleted = (flags & deleted) != 0;
  mapping.path = reader.get_text();
  if ((flags & ~all_mapping_flags) != 0 || mapping.start >= mapping.end) reader.refuse();
  return mapping;
}

void put_frame(Writer& writer, const StackFrame& frame) {
  writer.put(frame.address);
  writer.put(frame.offset);
  writer.put(frame.line);
  writer.put(static_cast<std::uint8_t>(
      (frame.is_inlined ? inlined : 0) | (frame.is_kernel ? kernel : 0) | (frame.is_jit ? jit : 0) |
      (frame.is_guessed ? guessed : 0) | (frame.is_signal ? signal : 0) |
      (frame.follows_gap ? gap : 0) | (frame.is_named_by_call ? by_call : 0)));
  writer.put(frame.rule);
  writer.put_text(frame.name);
  writer.put_text(frame.module);
  writer.put_text(frame.build_id);
  writer.put_text(frame.file);
}

StackFrame get_frame(Reader& reader) {
  StackFrame frame;
  frame.address = reader.get<std::uint64_t>();
  frame.offset = reader.get<std::uint64_t>();
  frame.line = reader.get<std::uint32_t>();
  const auto flags = reader.get<std::uint8_t>();
  if ((flags & ~all_frame_flags) != 0) reader.refuse();
  frame.is_inlined = (flags & inlined) != 0;
  frame.is_kernel = (flags & kernel) != 0;
  frame.is_jit = (flags & jit) != 0;
  frame.is_guessed = (flags & guessed) != 0;
  frame.is_signal = (flags & signal) != 0;
  frame.follows_gap = (flags & gap) != 0;
  frame.is_named_by_call = (flags & by_call) != 0;
  frame.rule = reader.get<frame_rule>();
  frame.name = made_printable(reader.get_text(), longest_text);
  frame.module = made_printable(reader.get_text(), longest_text);
  frame.build_id = made_printable(reader.get_text(), longest_text);
  frame.file = made_printable(reader.get_text(), longest_text);
  return frame;
}

std::optional<ToChild> get_space(Reader& reader) {
  Space space{.id = reader.get<std::uint64_t>(), .pid = reader.get<std::uint32_t>()};
  space.is_last = reader.get_flag();
  while (reader.is_good() && !reader.is_at_end()) space.mappings.push_back(get_mapping(reader));
  return space;
}

std::optional<ToChild> get_user_stack(Reader& reader) {
  UserStack stack{.space = reader.get<std::uint64_t>()};
  stack.registers = reader.get<user_registers>();
  const auto python_bytes = reader.get<std::uint32_t>();
  const auto rest = reader.rest();
  if (python_bytes > rest.size()) return std::nullopt;
  stack.copy = {rest.subspan(python_bytes), rest.first(python_bytes)};
  return stack;
}

std::optional<ToChild> get_recorded_stack(Reader& reader) {
  RecordedStack stack{.space = reader.get<std::uint64_t>()};
  while (reader.is_good() && !reader.is_at_end())
    stack.addresses.push_back(reader.get<std::uint64_t>());
  return stack;
}

std::optional<ToParent> get_wanted(Reader& reader) {
  Wanted wanted;
  const auto what = reader.get<std::uint8_t>();
  if (what > static_cast<std::uint8_t>(Wanted::What::memory)) return std::nullopt;
  wanted.what = static_cast<Wanted::What>(what);
  wanted.mapping = reader.get<std::uint64_t>();
  wanted.path = reader.get_text();  // path of a file: kept as it is
  return wanted;
}

std::optional<ToParent> get_frames(Reader& reader) {
  Frames frames;
  const auto status = reader.get<std::uint8_t>();
  const auto end = reader.get<std::uint8_t>();
  if (status > static_cast<std::uint8_t>(Frames::Status::unknown_space) ||
      end > static_cast<std::uint8_t>(last_stack_end))
    return std::nullopt;
  frames.status = static_cast<Frames::Status>(status);
  frames.stack.end = static_cast<StackEnd>(end);
  frames.stack.unresolved = reader.get<std::uint32_t>();
  frames.stack.end_module = made_printable(reader.get_text(), longest_text);
  while (reader.is_good() && !reader.is_at_end()) {
    if (frames.stack.frames.size() >= max_frames) return std::nullopt;
    frames.stack.frames.push_back(get_frame(reader));
  }
  if (frames.stack.unresolved > max_frames) return std::nullopt;
  return frames;
}

std::optional<ToParent> get_python(Reader& reader) {
  const auto support = reader.get<std::uint8_t>();
  if (support > static_cast<std::uint8_t>(last_python_support)) return std::nullopt;
  return Python{.support = static_cast<PythonSupport>(support),
                .runtime = reader.get<python_runtime>()};
}

void put_threads(Writer& writer, std::span<const NamedThread> threads) {
  for (const NamedThread& thread : threads.first(std::min(threads.size(), max_threads))) {
    writer.put(thread.tid);
    writer.put_text(std::string_view(thread.name).substr(0, longest_thread_name));
  }
}

std::optional<std::vector<NamedThread>> get_threads(Reader& reader) {
  std::vector<NamedThread> threads;
  while (reader.is_good() && !reader.is_at_end()) {
    const auto tid = reader.get<std::uint32_t>();
    threads.push_back({.tid = tid, .name = std::string(reader.get_text())});
    if (threads.size() > max_threads || threads.back().name.size() > longest_thread_name)
      return std::nullopt;
  }
  return threads;
}

std::size_t bytes_of(const StackFrame& frame) {
  return 32 + sizeof frame.rule + frame.name.size() + frame.module.size() + frame.build_id.size() +
         frame.file.size();
}

Writer frames_writer(Frames::Status status, const ResolvedStack& stack) {
  Writer writer(Kind::frames);
  writer.put(status);
  writer.put(stack.end);
  writer.put(static_cast<std::uint32_t>(stack.unresolved));
  writer.put_text(stack.end_module);
  return writer;
}

}  // namespace

std::vector<std::byte> encode(const Space& message) {
  Writer writer(Kind::space);
  writer.put(message.id);
  writer.put(message.pid);
  writer.put(static_cast<std::uint8_t>(message.is_last));
  for (const Mapping& mapping : message.mappings) put_mapping(writer, mapping);
  return writer.take();
}

std::vector<std::byte> encode(const UserStack& message) {
  Writer writer(Kind::user_stack);
  writer.put(message.space);
  writer.put(message.registers);
  const auto python = message.copy.python.first(std::min(message.copy.python.size(), max_python));
  const auto stack = message.copy.stack;
  writer.put(static_cast<std::uint32_t>(python.size()));
  writer.put_bytes(python);
  writer.put_bytes(stack.first(std::min(stack.size(), max_bytes - writer.size())));
  return writer.take();
}

std::vector<std::byte> encode(const RecordedStack& message) {
  Writer writer(Kind::recorded_stack);
  writer.put(message.space);
  for (const std::uint64_t address :
       std::span(message.addresses).first(std::min(message.addresses.size(), max_frames)))
    writer.put(address);
  return writer.take();
}

std::vector<std::byte> encode(const PythonOf& message) {
  Writer writer(Kind::python_of);
  writer.put(message.space);
  return writer.take();
}

std::vector<std::byte> encode(const JavaThreadsOf& message) {
  Writer writer(Kind::java_threads_of);
  writer.put(message.space);
  put_threads(writer, message.cut);
  return writer.take();
}

std::vector<std::byte> encode(const JavaThreads& message) {
  Writer writer(Kind::java_threads);
  put_threads(writer, message.named);
  return writer.take();
}

std::vector<std::byte> encode(const Python& message) {
  Writer writer(Kind::python);
  writer.put(message.support);
  writer.put(message.runtime);
  return writer.take();
}

std::vector<std::byte> encode(const File& message) {
  Writer writer(Kind::file);
  writer.put(static_cast<std::uint8_t>(message.is_there));
  writer.put(message.owner);
  return writer.take();
}

std::vector<std::byte> encode(const Probe& message) {
  Writer writer(Kind::probe);
  writer.put(message.what);
  return writer.take();
}

std::vector<std::byte> encode(const Wanted& message) {
  Writer writer(Kind::wanted);
  writer.put(message.what);
  writer.put(message.mapping);
  writer.put_text(message.path);
  return writer.take();
}

std::vector<std::vector<std::byte>> encode(const ResolvedStack& stack) {
  std::vector<std::vector<std::byte>> packets;
  const auto frames = std::span(stack.frames).first(std::min(stack.frames.size(), max_frames));
  std::size_t next = 0;
  do {
    const std::size_t begin = next;
    for (std::size_t bytes = 0; next < frames.size() && bytes < full_at; ++next)
      bytes += bytes_of(frames[next]);
    const bool is_last = next == frames.size();
    Writer writer = frames_writer(is_last ? Frames::Status::last : Frames::Status::more,
                                  is_last ? stack : ResolvedStack());
    for (std::size_t i = begin; i < next; ++i) put_frame(writer, frames[i]);
    packets.push_back(writer.take());
  } while (next < frames.size());
  return packets;
}

std::vector<std::byte> encode_unknown_space() {
  return frames_writer(Frames::Status::unknown_space, {}).take();
}

std::vector<std::vector<std::byte>> encode_space(std::uint64_t id, std::uint32_t pid,
                                                 std::span<const Mapping> mappings) {
  std::vector<std::vector<std::byte>> packets;
  do {
    Space space{.id = id, .pid = pid};
    std::size_t bytes = 0;
    while (!mappings.empty() && bytes < full_at) {
      bytes += sizeof(Mapping) + mappings.front().path.size();
      space.mappings.push_back(mappings.front());
      mappings = mappings.subspan(1);
    }
    space.is_last = mappings.empty();
    packets.push_back(encode(space));
  } while (!mappings.empty());
  return packets;
}

std::optional<ToChild> decode_to_child(std::span<const std::byte> packet) {
  Reader reader(packet);
  std::optional<ToChild> message;
  switch (reader.get<Kind>()) {
    case Kind::space:
      message = get_space(reader);
      break;
    case Kind::user_stack:
      message = get_user_stack(reader);
      break;
    case Kind::recorded_stack:
      message = get_recorded_stack(reader);
      break;
    case Kind::python_of:
      message = PythonOf{.space = reader.get<std::uint64_t>()};
      break;
    case Kind::java_threads_of: {
      const auto space = reader.get<std::uint64_t>();
      if (auto cut = get_threads(reader))
        message = JavaThreadsOf{.space = space, .cut = std::move(*cut)};
      break;
    }
    case Kind::file: {
      const bool is_there = reader.get_flag();
      message = File{.is_there = is_there, .owner = reader.get<std::uint32_t>()};
      break;
    }
    case Kind::probe:
      message = Probe{.what = reader.get<std::uint32_t>()};
      break;
    default:
      return std::nullopt;
  }
  return reader.is_whole() ? message : std::nullopt;
}

std::optional<ToParent> decode_to_parent(std::span<const std::byte> packet) {
  Reader reader(packet);
  std::optional<ToParent> message;
  switch (reader.get<Kind>()) {
    case Kind::wanted:
      message = get_wanted(reader);
      break;
    case Kind::frames:
      message = get_frames(reader);
      break;
    case Kind::python:
      message = get_python(reader);
      break;
    case Kind::java_threads:
      if (auto named = get_threads(reader)) message = JavaThreads{.named = std::move(*named)};
      break;
    default:
      return std::nullopt;
  }
  return reader.is_whole() ? message : std::nullopt;
}

}  // namespace overdue::resolve_message
