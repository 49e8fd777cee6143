#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/explain.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

constexpr std::size_t most_functions = 4;  // functions that say what went on

/// That in which it was blocked longest, or, if none, the longest.
const Wait* longest_wait(const Finding& finding) {
  const auto longest = std::max_element(
      finding.waits.begin(), finding.waits.end(), [](const Wait& a, const Wait& b) {
        return std::pair(a.blocked_ns(), a.ns) < std::pair(b.blocked_ns(), b.ns);
      });
  return longest == finding.waits.end() ? nullptr : &*longest;
}

/// The innermost functions of a stack that say what went on there.
void add_functions(std::string& cause, const Stack& stack) {
  const auto functions = telling_functions(stack);
  const std::size_t from =
      functions.size() > most_functions ? functions.size() - most_functions : 0;
  for (std::size_t i = from; i < functions.size(); ++i) cause += functions[i] + ";";
}

}  // namespace

std::string cause_of(const Finding& finding) {
  std::string cause = fmt::format("{}|{}|", finding.span, finding.name);
  if (const Wait* wait = longest_wait(finding)) {
    add_functions(cause, wait->kernel_stack);
    cause += '|';
    if (wait->waker && wait->waker->is_thread)
      cause += "thread";
    else if (wait->waker)
      cause += wait->waker->means.empty() ? wait->waker->context : wait->waker->means;
  } else if (finding.span == span_name(SPAN_LOCK)) {
    add_functions(cause, finding.kernel_stack);
    cause += '|';
  }
  cause += '|';
  // Whom an interrupt meets is chance.
  if (finding.is_bystander || finding.span == span_name(SPAN_SOFTIRQ_RAISE)) return cause;
  for (const char letter : finding.thread.comm)
    if (letter < '0' || letter > '9') cause += letter;
  return cause;
}

}  // namespace overdue
