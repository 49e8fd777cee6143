#include "analysis/span_words.h"

#include <cerrno>
#include <cstring>

#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "core/interrupt_names.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

/// The name, or the number if there is none.
template <std::size_t N>
std::string named(const std::array<std::string_view, N>& names, std::uint64_t number) {
  const std::string_view name = name_in(names, number);
  return name.empty() ? fmt::to_string(number) : std::string(name);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> units = {"KB", "MB", "GB", "TB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

/// The key of a user span: hexadecimal if it is a kernel address, else decimal.
std::string key_text(std::uint64_t key) {
  constexpr std::uint64_t kernel_begins = 0xffff'0000'0000'0000;
  return key >= kernel_begins && key < ~std::uint64_t{0} - 4096
             ? fmt::format("{:#x}", key)
             : fmt::to_string(static_cast<std::int64_t>(key));
}

std::string function_at(std::uint64_t address, StackNamer& namer) {
  const Stack frames = namer.kernel_stack({&address, 1});
  return frames.empty() ? fmt::format("{:#x}", address) : to_text(frames.front());
}

std::string thread_text(const ThreadName& thread) {
  if (thread.tid == 0) return "the idle thread";
  const std::string comm = thread.comm.empty() ? "thread" : printable(thread.comm);
  return fmt::format("{}[{}]", comm, thread.tid);
}

void describe_block(const span_record& span, Finding& finding) {
  constexpr std::uint64_t unknown_sector = 0xffffffff;
  const bool flush = span.flags & SPAN_FLUSH;
  finding.arguments = {flush ? "flush" : span.flags & SPAN_WRITE ? "write" : "read"};
  if (span.detail > 0) finding.arguments.push_back(bytes_text(span.detail));
  if (const std::uint64_t sector = span.subject >> 32; sector != unknown_sector && !flush)
    finding.arguments.push_back(fmt::format("sector {}", sector));
  if (span.flags & SPAN_FAILED) finding.arguments.emplace_back("failed");
  finding.title =
      fmt::format("{} {} {}", finding.span, finding.name, fmt::join(finding.arguments, " "));
}

void describe_connect(const span_record& span, Finding& finding) {
  const ConnectEnds ends = connect_ends(span);
  finding.arguments = {"from " + ends.local};
  std::string outcome;
  if (span.flags & SPAN_FAILED) {
    const char* name = ends.error ? strerrorname_np(ends.error) : nullptr;
    if (name) finding.error = name;
    outcome = ends.error == ECONNREFUSED ? " refused"
              : ends.error == ETIMEDOUT  ? " not answered"
              : ends.error == 0          ? " given up"
                                         : fmt::format(" failed: {}", finding.error);
  }
  finding.title = fmt::format("tcp connect {}{}", finding.name, outcome);
}

void describe_wait(const RawStall& stall, StackNamer& namer, Finding& finding) {
  const RawWait* wait = stall.longest();
  if (!wait) return;
  if (stall.span.span == SPAN_OFFCPU) {
    finding.name = wait_state_name(wait->fixed.state);
    finding.title = "offcpu " + finding.name;
    return;
  }
  if (!wait->waker) return;
  finding.name = context_text(*wait->waker);
  const bool by_thread = wait->waker->context == WAKER_THREAD;
  ThreadName waker{0, wait->waker->header.tid, std::string(fixed_text(wait->waker->header.comm))};
  if (by_thread && waker.comm.empty()) waker.comm = namer.thread_name(0, waker.tid);
  finding.title = "wakeup by " + (by_thread ? thread_text(waker) : finding.name);
}

/// Whether a span belongs to the thread that began it. Another thread may have ended the span.
bool is_of_beginner(const span_record& span) {
  if (span.begin_tid == 0) return false;
  switch (span.span) {
    case SPAN_BLOCK:
    case SPAN_BLOCK_QUEUED:
    case SPAN_SOFTIRQ_RAISE:
    case SPAN_WORK_QUEUED:
    case SPAN_TCP_CONNECT:
    case SPAN_TIMER:
    case SPAN_PAIR:
      return true;
    default:
      return false;
  }
}

bool ends_in_any_thread(const span_record& span) {
  return span.span == SPAN_IRQ || span.span == SPAN_SOFTIRQ || span.span == SPAN_VECTOR ||
         span.span == SPAN_SOFTIRQ_RAISE || span.span == SPAN_TIMER || span.span == SPAN_BLOCK ||
         span.span == SPAN_BLOCK_QUEUED || span.span == SPAN_TCP_CONNECT;
}

}  // namespace

std::string softirq_name(std::uint64_t number) {
  return named(softirq_names, number);
}

std::string context_text(const RawWaker& waker) {
  switch (waker.context) {
    case WAKER_THREAD:
      return "thread";
    case WAKER_SOFTIRQ:
      return "softirq " + softirq_name(waker.number);
    case WAKER_VECTOR:
      return "vector " + named(vector_names, waker.number);
    case WAKER_IRQ:
      return waker.irq_name.empty()
                 ? fmt::format("irq {}", waker.number)
                 : fmt::format("irq {} {}", waker.number, printable(waker.irq_name));
    default:
      return "unknown";
  }
}

std::string_view wait_state_name(std::uint32_t state) {
  switch (state) {
    case WAIT_PREEMPTED:
      return "preempted";
    case WAIT_SLEEPING:
      return "sleeping";
    case WAIT_UNINTERRUPTIBLE:
      return "uninterruptible";
    case WAIT_THROTTLED:
      return "throttled";
    case WAIT_UNKNOWN:
      return "unknown";
    default:
      return "other";
  }
}

void describe_span(const RawStall& stall, StackNamer& namer, Finding& finding) {
  const span_record& span = stall.span;
  finding.span = span_name(span.span);
  finding.name = printable(span_subject(span));
  switch (span.span) {
    case SPAN_SYSCALL:
      finding.name = fmt::format("syscall_{}", span.subject);
      return;
    case SPAN_OFFCPU:
    case SPAN_WAKEUP:
      return describe_wait(stall, namer, finding);
    case SPAN_BLOCK:
    case SPAN_BLOCK_QUEUED:
      return describe_block(span, finding);
    case SPAN_TCP_CONNECT:
      return describe_connect(span, finding);
    case SPAN_IRQ:
      finding.arguments = {fmt::to_string(span.subject)};
      finding.title = fmt::format("irq {} {}", span.subject, finding.name);
      return;
    case SPAN_SOFTIRQ:
    case SPAN_SOFTIRQ_RAISE:
      finding.name = softirq_name(span.subject);
      break;
    case SPAN_TIMER:
      finding.name = function_at(span.subject, namer);
      finding.title = fmt::format("timer {} late", finding.name);
      return;
    case SPAN_WORK:
    case SPAN_WORK_QUEUED: {
      const std::string queue = finding.name;
      finding.name = function_at(span.subject, namer);
      if (!queue.empty()) finding.arguments = {queue};
      finding.title = fmt::format("{} {} of {}", finding.span, finding.name,
                                  queue.empty() ? "a workqueue" : queue);
      return;
    }
    case SPAN_LOCK:
      finding.arguments = {fmt::format("{:#x}", span.subject)};
      if (span.flags & SPAN_FAILED) finding.arguments.emplace_back("given up");
      finding.title = fmt::format("lock {} {}", finding.name, fmt::join(finding.arguments, " "));
      return;
    case SPAN_PAIR:
      finding.arguments = {key_text(span.subject)};
      if (span.detail) finding.arguments.push_back(key_text(span.detail));
      finding.title = fmt::format("{} key {}", finding.name, fmt::join(finding.arguments, ";"));
      return;
    default:
      if (finding.name.empty()) finding.name = fmt::format("{:#x}", span.subject);
  }
  finding.title = fmt::format("{} {}", finding.span, finding.name);
}

void describe_threads(const RawStall& stall, StackNamer& namer, Finding& finding) {
  const span_record& span = stall.span;
  const event_header& header = span.header;
  const ThreadName context{header.pid, header.tid, std::string(fixed_text(header.comm))};
  finding.thread = context;
  finding.is_bystander = ends_in_any_thread(span);
  if (!is_of_beginner(span)) return;
  finding.is_bystander = false;
  if (span.begin_tid == header.tid && !context.comm.empty()) return;
  // The name in the thread's last wait may be older than an exec.
  std::string comm = namer.thread_name(span.begin_pid, span.begin_tid);
  if (comm.empty()) comm = stall.begin_comm;
  finding.thread = {span.begin_pid, span.begin_tid, std::move(comm)};
  if (!ends_in_any_thread(span) && !(span.flags & SPAN_OPEN)) finding.ended_by = context;
}

}  // namespace overdue
