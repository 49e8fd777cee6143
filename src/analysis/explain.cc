#include "analysis/explain.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "analysis/span_words.h"
#include "base/text.h"
#include "core/span_kinds.h"

namespace overdue {
namespace {

ThreadName thread_of(const event_header& header) {
  return {header.pid, header.tid, std::string(fixed_text(header.comm))};
}

Waker waker_of(const RawWaker& raw, StackNamer& namer) {
  Waker waker{.thread = thread_of(raw.header),
              .context = context_text(raw),
              .is_thread = raw.context == WAKER_THREAD,
              .stack = namer.kernel_stack(raw.stack)};
  if (waker.is_thread && waker.thread.comm.empty())
    waker.thread.comm = namer.thread_name(0, waker.thread.tid);
  return waker;
}

Wait wait_of(const RawWait& raw, StackNamer& namer) {
  Wait wait;
  wait.ns = raw.length_ns();
  wait.runqueue_ns = raw.fixed.state == WAIT_PREEMPTED ? 0 : raw.in_ns() - raw.unblocked_ns();
  wait.state = wait_state_name(raw.fixed.state);
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

/// Whether a thread of the kernel sleeps in its main function.
bool is_main_loop(const std::vector<std::string>& functions) {
  return functions.size() == 2 && functions.front() == "kthread";
}

const Wait* longest_wait(const Finding& finding) {
  const auto longest = std::max_element(finding.waits.begin(), finding.waits.end(),
                                        [](const Wait& a, const Wait& b) { return a.ns < b.ns; });
  return longest == finding.waits.end() ? nullptr : &*longest;
}

}  // namespace

namespace {

/// The innermost functions of a stack that say what went on there.
void add_functions(std::string& cause, const Stack& stack) {
  constexpr std::size_t innermost = 4;
  const auto functions = telling_functions(stack);
  const std::size_t from = functions.size() > innermost ? functions.size() - innermost : 0;
  for (std::size_t i = from; i < functions.size(); ++i) cause += functions[i] + ";";
}

}  // namespace

std::string cause_of(const Finding& finding) {
  std::string cause = fmt::format("{}|{}|", finding.span, finding.name);
  if (const Wait* wait = longest_wait(finding)) {
    add_functions(cause, wait->kernel_stack);
    cause += '|';
    if (wait->waker) cause += wait->waker->is_thread ? "thread" : wait->waker->context;
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
  if (finding.span != span_name(SPAN_SYSCALL) && finding.span != span_name(SPAN_OFFCPU))
    return false;
  const Wait* wait = longest_wait(finding);
  if (!wait || wait->state != "sleeping" || wait->ns < finding.latency_ns / 2) return false;
  if (is_main_loop(telling_functions(wait->kernel_stack))) return true;
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
  describe_span(stall, namer, finding);
  if (stall.call) {
    CallFields fields(finding);
    visit_record(*stall.call, names, fields);
  }
  finding.time = KernelTime(Duration(span.header.time_ns));
  describe_threads(stall, namer, finding);
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
  for (const RawLink& link : stall.chain) finding.chain.push_back(link_of(link, namer));
  finding.cause = cause_of(finding);
  return finding;
}

}  // namespace overdue
