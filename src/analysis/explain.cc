#include "analysis/explain.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

ThreadName thread_of(const event_header& header) {
  return {header.pid, header.tid, std::string(fixed_text(header.comm))};
}

/// include/linux/interrupt.h
constexpr std::array<std::string_view, 10> softirqs = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};
constexpr std::array<std::string_view, 6> vectors = {
    "", "local_timer", "reschedule", "call_function", "call_function_single", "irq_work"};

template <std::size_t N>
std::string named(const std::array<std::string_view, N>& names, std::uint16_t number) {
  return number < N && !names[number].empty() ? std::string(names[number]) : fmt::to_string(number);
}

std::string_view state_name(std::uint32_t state) {
  switch (state) {
    case WAIT_PREEMPTED:
      return "preempted";
    case WAIT_SLEEPING:
      return "sleeping";
    case WAIT_UNINTERRUPTIBLE:
      return "uninterruptible";
    default:
      return "other";
  }
}

Waker waker_of(const RawWaker& raw, StackNamer& namer) {
  return {.thread = thread_of(raw.header),
          .context = context_text(raw),
          .is_thread = raw.context == WAKER_THREAD,
          .stack = namer.kernel_stack(raw.stack)};
}

Wait wait_of(const RawWait& raw, StackNamer& namer) {
  Wait wait;
  wait.ns = raw.length_ns();
  wait.runqueue_ns = raw.fixed.state == WAIT_PREEMPTED ? 0 : raw.in_ns() - raw.unblocked_ns();
  wait.state = state_name(raw.fixed.state);
  wait.kernel_stack = namer.kernel_stack(raw.stack);
  if (raw.waker) wait.waker = waker_of(*raw.waker, namer);
  if (raw.fixed.state == WAIT_PREEMPTED)
    wait.displacer =
        ThreadName{0, raw.fixed.displacer_tid, std::string(fixed_text(raw.fixed.displacer))};
  if (raw.fixed.behind_tid)
    wait.behind = ThreadName{0, raw.fixed.behind_tid, std::string(fixed_text(raw.fixed.behind))};
  return wait;
}

ChainLink link_of(const RawLink& raw, StackNamer& namer) {
  ChainLink link;
  link.thread = thread_of(raw.waker->header);
  link.is_cut = raw.is_cut;
  link.ns = raw.overlap_ns;
  if (raw.waker->context != WAKER_THREAD) {
    link.what = context_text(*raw.waker);
    link.is_root = true;
  } else if (raw.wait) {
    link.what = "waited";
    link.kernel_stack = namer.kernel_stack(raw.wait->stack);
    link.thread = thread_of(raw.wait->fixed.header);
  } else {
    link.what = "ran";
    link.is_root = !raw.is_cut;
  }
  return link;
}

/// A system call's name, arguments and result, as its own record shows them.
class CallFields final : public FieldVisitor {
 public:
  explicit CallFields(Finding& finding) : finding_(finding) {}
  void number(std::string_view, std::uint64_t, Unit) override {}
  void result(std::string_view, std::int64_t value, std::string_view error) override {
    finding_.result = value;
    finding_.error = error;
  }
  void text(std::string_view name, std::string_view value) override {
    if (name == "name") finding_.name = value;
  }
  void list(std::string_view name, std::span<const std::string_view> values) override {
    if (name == "args") finding_.arguments.assign(values.begin(), values.end());
  }

 private:
  Finding& finding_;
};

std::string name_of(const span_record& span) {
  const std::string text = printable(fixed_text(span.text));
  switch (span.span) {
    case SPAN_SYSCALL:
      return fmt::format("syscall_{}", span.subject);
    case SPAN_IRQ:
      return fmt::format("irq {} {}", span.subject, text);
    case SPAN_SOFTIRQ:
    case SPAN_SOFTIRQ_RAISE:
      return named(softirqs, static_cast<std::uint16_t>(span.subject));
    default:
      return text.empty() ? fmt::format("{:#x}", span.subject) : text;
  }
}

Breakdown breakdown_of(const span_record& span) {
  const ledger_parts& parts = span.ledger;
  Breakdown result{.oncpu_ns = parts.oncpu_ns,
                   .runqueue_ns = parts.runqueue_ns,
                   .preempted_ns = parts.preempted_ns,
                   .sleeping_ns = parts.sleeping_ns,
                   .uninterruptible_ns = parts.uninterruptible_ns,
                   .irq_ns = parts.irq_ns,
                   .softirq_ns = parts.softirq_ns};
  const std::uint64_t known = result.oncpu_ns + result.runqueue_ns + result.preempted_ns +
                              result.blocked_ns() + result.irq_ns + result.softirq_ns;
  result.unknown_ns = span.latency_ns > known ? span.latency_ns - known : 0;
  return result;
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Wait* longest_wait(const Finding& finding) {
  const auto longest = std::max_element(finding.waits.begin(), finding.waits.end(),
                                        [](const Wait& a, const Wait& b) { return a.ns < b.ns; });
  return longest == finding.waits.end() ? nullptr : &*longest;
}

/// What the thread of an open call waits in, as a wait that has not ended.
void explain_present(const span_record& span, Finding& finding) {
  finding.state = fixed_text(span.text);
  finding.is_older = span.flags & SPAN_OLDER;
  if (span.detail == 0) return;
  Wait wait;
  wait.ns = span.detail;
  const bool woken = finding.state == "runqueue";
  wait.runqueue_ns = woken ? wait.ns : 0;
  constexpr std::array<std::string_view, 3> states = {"sleeping", "uninterruptible", "preempted"};
  const auto known = std::find(states.begin(), states.end(), finding.state);
  wait.state = known != states.end() ? *known : woken ? "sleeping" : "other";
  wait.kernel_stack = finding.kernel_stack;
  finding.waits.push_back(std::move(wait));
}

}  // namespace

std::string context_text(const RawWaker& waker) {
  switch (waker.context) {
    case WAKER_THREAD:
      return "thread";
    case WAKER_SOFTIRQ:
      return "softirq " + named(softirqs, waker.number);
    case WAKER_VECTOR:
      return "vector " + named(vectors, waker.number);
    case WAKER_IRQ:
      return waker.irq_name.empty()
                 ? fmt::format("irq {}", waker.number)
                 : fmt::format("irq {} {}", waker.number, printable(waker.irq_name));
    default:
      return "unknown";
  }
}

std::string cause_of(const Finding& finding) {
  std::string cause = fmt::format("{}|{}|", finding.span, finding.name);
  if (const Wait* wait = longest_wait(finding)) {
    constexpr std::size_t innermost = 4;
    const auto functions = telling_functions(wait->kernel_stack);
    const std::size_t from = functions.size() > innermost ? functions.size() - innermost : 0;
    for (std::size_t i = from; i < functions.size(); ++i) cause += functions[i] + ";";
    cause += '|';
    if (wait->waker) cause += wait->waker->is_thread ? "thread" : wait->waker->context;
  }
  cause += '|';
  for (const char letter : finding.thread.comm)
    if (letter < '0' || letter > '9') cause += letter;
  return cause;
}

bool is_idle(const Finding& finding) {
  constexpr std::array<std::string_view, 26> functions = {"ep_poll",
                                                          "do_epoll_wait",
                                                          "do_poll",
                                                          "do_sys_poll",
                                                          "do_select",
                                                          "core_sys_select",
                                                          "poll_schedule_timeout",
                                                          "do_wait",
                                                          "kernel_wait4",
                                                          "do_sigtimedwait",
                                                          "sigsuspend",
                                                          "do_pause",
                                                          "anon_pipe_read",
                                                          "pipe_read",
                                                          "n_tty_read",
                                                          "eventfd_read",
                                                          "timerfd_read",
                                                          "timerfd_read_iter",
                                                          "signalfd_read_iter",
                                                          "signalfd_dequeue",
                                                          "inotify_read",
                                                          "inet_csk_accept",
                                                          "unix_accept",
                                                          "io_cqring_wait",
                                                          "__skb_wait_for_more_packets",
                                                          "unix_stream_data_wait"};
  constexpr std::array<std::string_view, 2> of_sockets = {"sk_wait_data", "unix_wait_for_peer"};
  const Wait* wait = longest_wait(finding);
  if (!wait || wait->state != "sleeping" || wait->ns < finding.latency_ns / 2) return false;
  return std::any_of(wait->kernel_stack.begin(), wait->kernel_stack.end(),
                     [&](const StackFrame& frame) {
                       const std::string_view name = frame.name;
                       const std::string_view function = name.substr(0, name.find('.'));
                       return is_one_of(function, functions) || is_one_of(function, of_sockets);
                     });
}

Finding explain(const RawStall& stall, StackNamer& namer, const Names& names) {
  Finding finding;
  const span_record& span = stall.span;
  finding.type = span.flags & SPAN_OPEN ? "hang" : "stall";
  finding.span = span_name(span.span);
  finding.name = name_of(span);
  if (stall.call) {
    CallFields fields(finding);
    visit_record(*stall.call, names, fields);
  }
  finding.time = KernelTime(Duration(span.header.time_ns));
  finding.thread = thread_of(span.header);
  finding.cpu = span.header.cpu;
  finding.cgroup_id = span.header.cgroup_id;
  finding.latency_ns = span.latency_ns;
  if (span.flags & SPAN_HAS_LEDGER) finding.breakdown = breakdown_of(span);
  for (const RawWait* wait : stall.waits) finding.waits.push_back(wait_of(*wait, namer));
  finding.waits_forgotten = stall.waits_forgotten;
  finding.kernel_stack = namer.kernel_stack(stall.kernel_stack);
  if (!stall.user_stack.empty()) {
    StackNamer::UserStack user =
        namer.user_stack(span.header.pid, stall.registers, stall.user_stack,
                         KernelTime(Duration(span.header.time_ns)));
    finding.user_stack = std::move(user.frames);
    finding.user_stack_end = std::move(user.end);
  }
  if (span.flags & SPAN_OPEN) explain_present(span, finding);
  for (const RawLink& link : stall.chain) finding.chain.push_back(link_of(link, namer));
  finding.cause = cause_of(finding);
  if (span.flags & SPAN_OPEN) finding.cause = "hang|" + finding.cause;
  return finding;
}

}  // namespace overdue
