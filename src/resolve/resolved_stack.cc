#include "resolve/resolved_stack.h"

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

}  // namespace overdue
