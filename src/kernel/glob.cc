#include "kernel/glob.h"

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

/// Length of the element at the front of `pattern`: a set with its brackets, an escape, or one
/// character.
std::size_t element_length(std::string_view pattern) {
  if (pattern[0] == '\\' && pattern.size() > 1) return 2;
  if (pattern[0] != '[') return 1;
  const bool negated = pattern.size() > 1 && (pattern[1] == '!' || pattern[1] == '^');
  const std::size_t close =
      pattern.find(']', negated ? 3 : 2);  // a set holds at least one character
  return close == std::string_view::npos ? 1 : close + 1;
}

}  // namespace

bool fits_thread_name(std::string_view pattern) {
  unsigned elements = 0;
  while (!pattern.empty()) {
    elements += pattern[0] != '*';
    pattern.remove_prefix(element_length(pattern));
  }
  return elements < COMM_SIZE;
}

glob_program compile_glob(std::string_view pattern) {
  if (!fits_thread_name(pattern))
    throw Error("thread-name pattern '{}' can match nothing: it is longer than a name",
                printable(pattern))
        .hint("the kernel keeps the first 15 characters of a thread's name; end the pattern with *")
        .exit_status(2);
  glob_program program{};
  unsigned elements = 0;
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      program.stays |= u64{1} << elements;
      pattern.remove_prefix(1);
      continue;
    }
    const std::size_t length = element_length(pattern);
    const std::string_view element = pattern.substr(0, length);
    for (unsigned c = 1; c < 256; ++c) {
      const char character = static_cast<char>(c);
      if (glob_matches(element, {&character, 1})) program.matches[c] |= u64{1} << elements;
    }
    pattern.remove_prefix(length);
    ++elements;
  }
  program.accepts = u64{1} << elements;
  return program;
}

bool matches(const glob_program& program, std::string_view name) {
  u64 state = 1;
  for (const char c : name.substr(0, COMM_SIZE - 1))
    state = (state & program.matches[static_cast<unsigned char>(c)]) << 1 | (state & program.stays);
  return (state & program.accepts) != 0;
}

}  // namespace overdue
