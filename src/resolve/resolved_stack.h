#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/stack.h"

namespace overdue {

/// Why a stack has no more frames.
enum class StackEnd : std::uint8_t {
  complete,     ///< the thread began here
  end_of_copy,  ///< the next frame is in memory that was not copied
  no_cfi,       ///< nobody says where the next frame is
  loop,         ///< the next frame would not be further up
  limit,        ///< there are more frames than are kept
  recorded,     ///< as whoever recorded its addresses left it
  no_process,   ///< what was mapped into the process is not known
  failed,       ///< the resolver gave up: it took too long, or died of what it read
};
constexpr auto last_stack_end = StackEnd::failed;
/// "complete", "the copy of the stack ends", …
std::string_view to_text(StackEnd end);

struct ResolvedStack {
  Stack frames{};  ///< innermost first
  StackEnd end = StackEnd::complete;
  std::string end_module{};    ///< of the last frame, where there was no unwind information for it
  std::size_t unresolved = 0;  ///< frames that should have a name and have none

  bool operator==(const ResolvedStack&) const = default;
};

}  // namespace overdue
