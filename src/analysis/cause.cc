#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/explain.h"
#include "analysis/wait_functions.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

constexpr std::size_t max_functions = 4;  // of one stack

/// Adds the innermost of the telling functions of a kernel stack.
void add_functions(std::string& cause, const Stack& stack) {
  const auto functions = telling_functions(stack);
  const std::size_t from = functions.size() > max_functions ? functions.size() - max_functions : 0;
  for (std::size_t i = from; i < functions.size(); ++i) cause += functions[i] + ";";
}

std::string without_digits(std::string_view comm) {
  std::string letters;
  for (const char letter : comm)
    if (letter < '0' || letter > '9') letters += letter;
  return letters;
}

std::string_view largest_part(const Breakdown& parts) {
  const std::array<std::pair<std::uint64_t, std::string_view>, 8> all = {
      {{parts.blocked_ns(), "blocked"},
       {parts.ns(ShareKind::runqueue), "runqueue"},
       {parts.ns(ShareKind::preempted), "preempted"},
       {parts.ns(ShareKind::throttled), "throttled"},
       {parts.ns(ShareKind::oncpu), "oncpu"},
       {parts.ns(ShareKind::irq), "irq"},
       {parts.ns(ShareKind::softirq), "softirq"},
       {parts.unexplained_ns, "unknown"}}};
  return std::max_element(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

/// Adds the end of the chain of wakers: the last thread or interrupt, and its activity.
void add_root(std::string& cause, const std::vector<ChainLink>& chain) {
  if (chain.empty()) return;
  const ChainLink& root = chain.back();
  if (root.is_thread)
    cause += fmt::format("{} {};", without_digits(root.thread.comm), root.what);
  else
    cause += root.means.empty() ? root.what : std::string(root.means);
  add_functions(cause, root.kernel_stack);
}

/// Adds the innermost functions, without the C library and without the functions in which threads
/// begin. A function without a name is represented by its file: its offset differs between builds.
void add_own_frames(std::string& cause, const Stack& stack) {
  std::string last;
  std::size_t count = 0;
  for (const StackFrame& frame : stack) {
    if (is_of_c_library(frame) || is_thread_start(frame.name)) continue;
    const std::string& function = frame.name.empty() ? frame.module : frame.name;
    if (function == last) continue;
    if (++count > max_functions) return;
    cause += function + ";";
    last = function;
  }
}

}  // namespace

std::string cause_of(const Finding& finding) {
  std::string cause = fmt::format("{}|{}|", finding.span, finding.name);
  if (const Wait* wait = finding.longest_wait()) {
    add_functions(cause, wait->kernel_stack);
    cause += '|';
    if (wait->waker && wait->waker->is_thread)
      cause += "thread";
    else if (wait->waker)
      cause += wait->waker->means.empty() ? wait->waker->context : wait->waker->means;
  } else if (finding.handler) {
    cause += finding.handler->signal + '|';
  } else if (finding.span == span_name(SPAN_LOCK)) {
    add_functions(cause, finding.kernel_stack);
    cause += '|';
  }
  cause += '|';
  // The thread that was interrupted is a matter of chance.
  if (finding.is_bystander || finding.span == span_name(SPAN_SOFTIRQ_RAISE)) return cause;
  cause += without_digits(finding.thread.comm);
  cause += '|';
  if (finding.breakdown) cause += largest_part(*finding.breakdown);
  cause += '|';
  add_root(cause, finding.chain);
  cause += '|';
  if (finding.user_stack) add_own_frames(cause, *finding.user_stack);
  return cause;
}

}  // namespace overdue
