#include "sinks/csv_finding.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/finding_words.h"

namespace overdue {
namespace {

std::string waker_text(const Wait& wait) {
  if (!wait.waker) return {};
  const Waker& waker = *wait.waker;
  return waker.is_thread ? thread_text(waker.thread)
                         : interrupt_text(waker.means, waker.disk, waker.context);
}

std::string arguments_text(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : ", ") + argument;
  return text;
}

/// Outermost first, as in folded stacks.
std::string folded(const std::vector<std::string>& functions) {
  std::string text;
  for (const std::string& function : functions) text += (text.empty() ? "" : ";") + function;
  return text;
}

std::vector<std::string> functions_of(const Stack& stack) {
  std::vector<std::string> functions;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame)
    functions.push_back(to_text(*frame));
  return functions;
}

/// A text that is printable already.
constexpr About words{.is_escaped = true};

void describe_operation(Members& cell, const Finding& finding, const SessionInfo& info) {
  cell("type", finding.type);
  cell("number", finding.number);
  cell("like", or_null(when(finding.like > 0, finding.like)));
  cell("time", format_rfc3339(info.wall(finding.time)));
  cell("span", finding.span);
  cell("name", finding.name);
  cell("args", arguments_text(finding.arguments), words);
  cell("ret", or_null(finding.result));
  cell("error", finding.error);
  cell("pid", finding.thread.pid);
  cell("tid", finding.thread.tid);
  cell("comm", finding.thread.comm);
  cell("cpu", finding.cpu);
  cell("latency_ns", finding.latency_ns);
  cell("threshold_ns", finding.threshold_ns);
  cell("late_ns", finding.late_ns());
}

void describe_parts(Members& cell, const std::optional<Breakdown>& breakdown) {
  const auto part = [&](std::string_view key, ShareKind kind) {
    const std::uint64_t ns = breakdown ? breakdown->ns(kind) : 0;
    cell(key, or_null(breakdown ? &ns : nullptr));
  };
  part("oncpu_ns", ShareKind::oncpu);
  part("runqueue_ns", ShareKind::runqueue);
  part("preempted_ns", ShareKind::preempted);
  part("throttled_ns", ShareKind::throttled);
  part("sleeping_ns", ShareKind::sleeping);
  part("uninterruptible_ns", ShareKind::uninterruptible);
  part("irq_ns", ShareKind::irq);
  part("softirq_ns", ShareKind::softirq);
  cell("unknown_ns", or_null(breakdown ? &breakdown->unexplained_ns : nullptr));
}

}  // namespace

void describe_finding_cells(Members& cell, const Finding& finding, const SessionInfo& info) {
  describe_operation(cell, finding, info);
  describe_parts(cell, finding.breakdown);
  const Wait* const wait = finding.longest_wait();
  cell("waited_in", wait ? folded(telling_functions(wait->kernel_stack)) : "", words);
  cell("waker", wait ? waker_text(*wait) : "", words);
  cell("called_from", finding.user_stack ? folded(functions_of(*finding.user_stack)) : "", words);
  cell("cause", finding.cause);
}

}  // namespace overdue
