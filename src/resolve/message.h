#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bpf/span.h"
#include "core/user_copy.h"
#include "resolve/java_threads.h"
#include "resolve/python_layout.h"
#include "resolve/resolved_stack.h"
#include "symbols/process_maps.h"

/// The messages between a SandboxedResolver and its child, one per packet. The child reads data of
/// hostile processes, so its messages are hostile too: no length is trusted, and a malformed packet
/// decodes to nothing.
namespace overdue::resolve_message {

/// Largest packet, in bytes.
constexpr std::size_t max_bytes = 128u << 10;
/// Most frames of a stack, over all its packets.
constexpr std::size_t max_frames = 4096;
/// Longest text, in bytes; the reader cuts a longer text.
constexpr std::size_t longest_text = 8192;
/// Most threads of a packet. Names are cut after 256 bytes, so that the packet has room.
constexpr std::size_t max_threads = 256;

// ── to the child ──

/// Some of the mappings of a space. The space exists once the packet with `is_last` has arrived.
struct Space {
  std::uint64_t id = 0;
  std::uint32_t pid = 0;  ///< within one pid, equal device, inode and path mean the same file
  bool is_last = false;
  std::vector<Mapping> mappings{};  ///< paths are views into the packet
};
struct UserStack {
  std::uint64_t space = 0;
  user_registers registers{};
  UserCopy copy{};  ///< views into the packet
};
struct RecordedStack {
  std::uint64_t space = 0;
  std::vector<std::uint64_t> addresses{};
};
/// Asks for the interpreter of Python in a space.
struct PythonOf {
  std::uint64_t space = 0;
};
/// Asks for the full names of threads of Java in a space.
struct JavaThreadsOf {
  std::uint64_t space = 0;
  std::vector<NamedThread> cut{};  ///< at most max_threads
};
/// The answer to Wanted; carries the descriptor, if there is one.
struct File {
  bool is_there = false;
  std::uint32_t owner = 0;
};
/// For tests: calls the child's probe function with `what`.
struct Probe {
  std::uint32_t what = 0;
};
using ToChild = std::variant<Space, UserStack, RecordedStack, PythonOf, JavaThreadsOf, File, Probe>;

// ── to the parent ──

struct Wanted {
  enum class What : std::uint8_t { mapped_file, debug_file, vdso, perf_map, memory };
  What what = What::mapped_file;
  std::uint64_t mapping = 0;  ///< start of a mapping in the space whose stack is being read
  std::string path{};
};
struct Frames {
  enum class Status : std::uint8_t { more, last, unknown_space };
  Status status = Status::more;
  ResolvedStack stack{};  ///< only the last packet has valid fields besides `frames`
};
/// The answer to PythonOf.
struct Python {
  PythonSupport support = PythonSupport::none;
  python_runtime runtime{};
};
/// The answer to JavaThreadsOf. The names are hostile text.
struct JavaThreads {
  std::vector<NamedThread> named{};
};
using ToParent = std::variant<Wanted, Frames, Python, JavaThreads>;

std::vector<std::byte> encode(const Space& message);
std::vector<std::byte> encode(const UserStack& message);
std::vector<std::byte> encode(const RecordedStack& message);
std::vector<std::byte> encode(const PythonOf& message);
std::vector<std::byte> encode(const JavaThreadsOf& message);
std::vector<std::byte> encode(const File& message);
std::vector<std::byte> encode(const Probe& message);
std::vector<std::byte> encode(const Wanted& message);
std::vector<std::byte> encode(const Python& message);
std::vector<std::byte> encode(const JavaThreads& message);
/// In as many packets as needed.
std::vector<std::vector<std::byte>> encode(const ResolvedStack& stack);
std::vector<std::byte> encode_unknown_space();
/// All mappings of a process, in as many packets as needed.
std::vector<std::vector<std::byte>> encode_space(std::uint64_t id, std::uint32_t pid,
                                                 std::span<const Mapping> mappings);

std::optional<ToChild> decode_to_child(std::span<const std::byte> packet);
/// The text in frames is safe to print, whatever was sent; Wanted::path is raw.
std::optional<ToParent> decode_to_parent(std::span<const std::byte> packet);

}  // namespace overdue::resolve_message
