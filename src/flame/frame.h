#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// The kind of a frame. Decides the frame's colour, and its mark in folded text.
enum class FrameKind : std::uint8_t {
  thread,   ///< the outermost frame: the thread that the stack belongs to
  user,     ///< a function of the program or of a library
  syscall,  ///< the system call by which the thread entered the kernel
  kernel,   ///< a function of the kernel
  unknown,  ///< an address without a name, or merged frames
  waiting,  ///< not running: asleep, off the CPU, idle
};
inline constexpr std::size_t frame_kinds = 6;

/// The unit of the weights of stacks.
enum class WeightUnit : std::uint8_t { samples, microseconds, bytes };

/// One frame. `name` is raw: any bytes.
struct FoldedFrame {
  std::string name;
  FrameKind kind = FrameKind::user;

  bool operator==(const FoldedFrame&) const = default;
};

/// One stack with its weight. Frames are outermost first, after the thread.
struct FoldedStack {
  std::vector<FoldedFrame> frames;
  std::uint64_t weight = 0;

  bool operator==(const FoldedStack&) const = default;
};

/// "user", "system call", …, for legends.
std::string_view frame_kind_name(FrameKind kind);

/// A weight for display: `1,234 samples`, `1.24ms`, `3.20 MiB`.
std::string format_weight(std::uint64_t weight, WeightUnit unit);

/// `12.3%`: two decimals below 1, one above.
std::string format_share(std::uint64_t part, std::uint64_t whole);

/// `1 stack`, `1,234 stacks`.
std::string format_counted(std::uint64_t count, std::string_view noun);

}  // namespace overdue
