#include "resolve/resolved_stack.h"

#include "base/text.h"

namespace overdue {

std::string_view to_text(StackEnd end) {
  switch (end) {
    case StackEnd::complete:
      return "complete";
    case StackEnd::end_of_copy:
      return "the copy of the stack ends";
    case StackEnd::no_cfi:
      return "no unwind information";
    case StackEnd::loop:
      return "the callers go round";
    case StackEnd::limit:
      return "more frames than are kept";
    case StackEnd::recorded:
      return "as recorded";
    case StackEnd::no_process:
      return "the process has gone, and what was mapped is not known";
    case StackEnd::failed:
      return "resolver failed";
  }
  return {};
}

std::string made_printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    const std::string character =
        length > 0 ? std::string(text.substr(0, length)) : printable(text.substr(0, 1));
    if (result.size() + character.size() > limit) return result + "…";
    result += character;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace overdue
