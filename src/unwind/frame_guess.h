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
  std::uint64_t frame_pointer = 0;  ///< the caller's
  std::uint64_t return_address = 0;
};
/// The link at `frame`, if it can be one: aligned, not below `lowest`, copied, with a return
/// address that is code, and the next link, if any, further up.
std::optional<FrameLink> next_frame(const AddressSpace& space, const StackCopy& stack,
                                    std::uint64_t frame, std::uint64_t lowest);

/// The caller of a frame that no CFI describes.
struct FrameGuess {
  enum class Outcome { found, end_of_chain, nothing };
  Outcome outcome = Outcome::nothing;
  Registers caller{};
  bool is_leaf = false;
  bool is_signal_frame = false;
  /// There may be frames between the two: the function had none of its own, and the frame pointer
  /// was that of a caller further up.
  bool may_skip = false;
};
using CodeReader = std::function<std::vector<std::byte>(std::uint64_t address, std::size_t size)>;
/// `is_first`: the frame that the registers are of, which may be anywhere in its function.
FrameGuess guess_caller(const AddressSpace& space, const CodeReader& code,
                        const Registers& registers, const StackCopy& stack, bool is_first);

}  // namespace overdue
