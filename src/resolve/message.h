#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bpf/span.h"
#include "resolve/resolved_stack.h"
#include "symbols/process_maps.h"

/// What a SandboxedResolver and its child say to each other: packets, each one of these. The child
/// reads what hostile processes wrote, so whatever it says is hostile as well: no length is
/// believed, and a packet with anything wrong in it is nothing.
namespace overdue::resolve_message {

/// No packet is longer.
constexpr std::size_t most_bytes = 128u << 10;
/// Of a stack, in all its packets.
constexpr std::size_t most_frames = 4096;
/// Of one text; what is longer is cut by whoever reads it.
constexpr std::size_t longest_text = 8192;

// ── to the child ──

/// Some of the mappings of a space; the last packet says so, and only then it is there.
struct Space {
  std::uint64_t id = 0;
  std::uint32_t pid = 0;  ///< files with the same numbers and path are the same for this one
  bool is_last = false;
  std::vector<Mapping> mappings{};  ///< paths are views into the packet
};
struct UserStack {
  std::uint64_t space = 0;
  user_registers registers{};
  std::span<const std::byte> copy{};  ///< a view into the packet
};
struct RecordedStack {
  std::uint64_t space = 0;
  std::vector<std::uint64_t> addresses{};
};
/// The answer to Wanted; the descriptor, if there is one, comes with it.
struct File {
  bool is_there = false;
  std::uint32_t owner = 0;
};
/// For tests: do what the child was told of such numbers when it was made.
struct Probe {
  std::uint32_t what = 0;
};
using ToChild = std::variant<Space, UserStack, RecordedStack, File, Probe>;

// ── to the parent ──

struct Wanted {
  enum class What : std::uint8_t { mapped_file, debug_file, vdso, perf_map };
  What what = What::mapped_file;
  std::uint64_t mapping = 0;  ///< its start; of the space whose stack is being read
  std::string path{};
};
struct Frames {
  enum class Status : std::uint8_t { more, last, unknown_space };
  Status status = Status::more;
  ResolvedStack stack{};  ///< all but the frames counts in the last packet only
};
using ToParent = std::variant<Wanted, Frames>;

std::vector<std::byte> encode(const Space& message);
std::vector<std::byte> encode(const UserStack& message);
std::vector<std::byte> encode(const RecordedStack& message);
std::vector<std::byte> encode(const File& message);
std::vector<std::byte> encode(const Probe& message);
std::vector<std::byte> encode(const Wanted& message);
/// In as many packets as it takes.
std::vector<std::vector<std::byte>> encode(const ResolvedStack& stack);
std::vector<std::byte> encode_unknown_space();
/// As many packets as it takes, all mappings of a process.
std::vector<std::vector<std::byte>> encode_space(std::uint64_t id, std::uint32_t pid,
                                                 std::span<const Mapping> mappings);

std::optional<ToChild> decode_to_child(std::span<const std::byte> packet);
/// All text in it is fit to be printed, whatever was sent.
std::optional<ToParent> decode_to_parent(std::span<const std::byte> packet);

}  // namespace overdue::resolve_message
