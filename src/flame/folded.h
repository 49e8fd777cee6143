#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flame/frame.h"
#include "flame/stack_tree.h"

namespace overdue {

// Folded text, as flamegraph.pl, inferno and speedscope read it: one stack per line,
//
//     thread;outermost frame;…;innermost frame WEIGHT
//
// A frame may end in a mark of its kind: `_[k]` kernel, as in other tools; and, in Overdue only,
// `_[s]` system call, `_[o]` off the CPU, `_[x]` unknown, `_[u]` user, `_[t]` thread. Without a
// mark, the first frame is the thread; `[unknown]`, `(other)` and `0x…` are unknown; all other
// frames are user. In names, these are written `\xNN`, two lower-case hexadecimal digits per byte:
// `;`, control characters, invalid UTF-8, a backslash before an `x`, and the `]` of text that would
// read as a mark. There is no other escape.

/// `frame` as folded text. `first`: the frame begins the stack; `marks`: kinds are marked.
std::string folded_frame(const FoldedFrame& frame, bool first, bool marks);

/// The opposite of folded_frame(), for any text.
FoldedFrame parse_folded_frame(std::string_view text, bool first);

/// Appends every stack of `tree` to `text`, in the order of its nodes.
void append_folded(std::string& text, const StackTree& tree, bool marks = true);

/// Reads folded text in pieces and passes each stack to a function. For hostile input: holds one
/// line (1 MiB at most) and one stack (4096 frames at most; deeper frames are left out). Malformed
/// lines are counted, and the first ones are in problems().
class FoldedReader {
 public:
  struct Problem {
    std::uint64_t line;  ///< from 1
    std::string_view what;
  };
  using OnStack = std::function<void(const FoldedStack&)>;

  explicit FoldedReader(OnStack on_stack) : on_stack_(std::move(on_stack)) {}

  void feed(std::string_view bytes);
  /// Ends the text: text after the last newline is a line, too.
  void finish();

  std::uint64_t stacks() const { return stacks_; }
  std::uint64_t malformed() const { return malformed_; }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  void keep(std::string_view part);
  void end_line(std::string_view rest);
  void parse(std::string_view line);
  void refuse(std::string_view what);

  OnStack on_stack_;
  std::string line_;
  bool too_long_ = false;
  FoldedStack stack_;
  std::uint64_t line_number_ = 0, stacks_ = 0, malformed_ = 0;
  std::vector<Problem> problems_;
};

}  // namespace overdue
