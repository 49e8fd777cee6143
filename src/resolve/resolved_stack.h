#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// One frame with all that is known of it. All text is fit to be printed.
struct ResolvedFrame {
  std::uint64_t address = 0;
  std::string name{};    ///< demangled; empty where nobody knows, or nobody asked
  std::string module{};  ///< the file's path; "[vdso]", "[jit]", "[anon]", "[kernel]", "[ext4]";
                         ///< empty where no code is mapped
  std::uint64_t offset = 0;  ///< into the function; without a name into the module's file or the
                             ///< mapping; without a module it is the address
  std::string build_id{};    ///< of the file, if it has one
  std::string file{};        ///< source file and line, where those were asked for and are known
  std::uint32_t line = 0;
  bool is_inlined = false;  ///< into the next frame, whose address it has
  bool is_kernel = false;
  bool is_jit = false;      ///< named by the perf map of its process
  bool is_guessed = false;  ///< found by frame pointers: callers may be missing before it
  bool is_signal = false;   ///< the trampoline of a signal handler

  bool operator==(const ResolvedFrame&) const = default;
};

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
  std::vector<ResolvedFrame> frames{};  ///< innermost first
  StackEnd end = StackEnd::complete;
  std::string end_module{};    ///< of the last frame, where there was no unwind information for it
  std::size_t unresolved = 0;  ///< frames that should have a name and have none

  bool operator==(const ResolvedStack&) const = default;
};

/// How a frame is shown, as to_text(Frame) does it: "openat64", "[libfoo.so+0x1234]", "[unknown]".
std::string to_text(const ResolvedFrame& frame);

/// `text` that claims to be printable() already: what of it is not becomes so, and what is longer
/// than `limit` bytes is cut, with "…" for the rest.
std::string made_printable(std::string_view text, std::size_t limit);

}  // namespace overdue
