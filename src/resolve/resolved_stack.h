#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/stack.h"

namespace overdue {

/// Why a stack has no more frames.
enum class StackEnd : std::uint8_t {
  complete,     ///< the outermost frame is the thread's first
  end_of_copy,  ///< the next frame is in memory that was not copied
  no_cfi,       ///< no unwind information for the next frame
  loop,         ///< the next frame would not be higher on the stack
  limit,        ///< there are more frames than are kept
  recorded,     ///< addresses as recorded; whether there are more is unknown
  no_process,   ///< the mappings of the process are unknown
  failed,       ///< the resolver took too long, or died while reading
};
constexpr auto last_stack_end = StackEnd::failed;
/// "complete", "the copy of the stack ends", …
std::string_view to_text(StackEnd end);

struct ResolvedStack {
  Stack frames{};  ///< innermost first
  StackEnd end = StackEnd::complete;
  std::string end_module{};    ///< module of the last frame, if it has no unwind information
  std::size_t unresolved = 0;  ///< number of frames that should have a name but have none

  bool operator==(const ResolvedStack&) const = default;
};

}  // namespace overdue
