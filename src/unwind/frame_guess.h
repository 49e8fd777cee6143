#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "unwind/stack_snapshot.h"

namespace overdue {

class AddressSpace;

/// One link of a chain of frame pointers.
struct FrameLink {
  std::uint64_t frame_pointer = 0;  ///< frame pointer of the caller
  std::uint64_t return_address = 0;
};
/// The link at `frame`, if it is plausible: aligned, not below `lowest`, copied, with a return
/// address in code, and with the next link, if any, at a higher address.
std::optional<FrameLink> next_frame(const AddressSpace& space, const StackCopy& stack,
                                    std::uint64_t frame, std::uint64_t lowest);

/// The presumed caller of a frame without CFI.
struct FrameGuess {
  enum class Outcome { found, end_of_chain, nothing };
  Outcome outcome = Outcome::nothing;
  Registers caller{};
  bool is_leaf = false;
  bool is_signal_frame = false;
  /// Frames may be missing before the caller: the function made no frame of its own, and the frame
  /// pointer was that of a caller further up.
  bool may_skip = false;
};
using CodeReader = std::function<std::vector<std::byte>(std::uint64_t address, std::size_t size)>;
/// `is_first`: the innermost frame, which may be at any instruction of its function.
FrameGuess guess_caller(const AddressSpace& space, const CodeReader& code,
                        const Registers& registers, const StackCopy& stack, bool is_first);

}  // namespace overdue
