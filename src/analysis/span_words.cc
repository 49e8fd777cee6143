#include "analysis/span_words.h"

#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "core/span_kinds.h"
#include "core/wait_names.h"

namespace overdue {
namespace {

std::string function_at(std::uint64_t address, StackNamer& namer) {
  const Stack frames = namer.kernel_stack({&address, 1});
  return frames.empty() ? fmt::format("{:#x}", address) : to_text(frames.front());
}

std::string thread_text(const ThreadName& thread) {
  if (thread.tid == 0) return "the idle thread";
  const std::string comm = thread.comm.empty() ? "thread" : printable(thread.comm);
  return fmt::format("{}[{}]", comm, thread.tid);
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

}  // namespace

std::string context_text(const RawWaker& waker) {
  return waker_name(waker.context, waker.number, waker.irq_name);
}

std::string name_of_span(const span_record& span, StackNamer& namer) {
  const SpanKind* kind = span_kind_of(span.span);
  return kind && kind->is_of_function ? function_at(span.subject, namer)
                                      : printable(span_subject(span));
}

void describe_span(const RawStall& stall, StackNamer& namer, Finding& finding) {
  const span_record& span = stall.span;
  const SpanKind* kind = span_kind_of(span.span);
  finding.span = span_name(span.span);
  if (span.span == SPAN_OFFCPU || span.span == SPAN_WAKEUP)
    return describe_wait(stall, namer, finding);
  finding.name = name_of_span(span, namer);
  if (kind && kind->describe) return kind->describe(span, finding);
  if (finding.name.empty()) finding.name = fmt::format("{:#x}", span.subject);
  finding.title = fmt::format("{} {}", finding.span, finding.name);
}

void describe_threads(const RawStall& stall, StackNamer& namer, Finding& finding) {
  const span_record& span = stall.span;
  const event_header& header = span.header;
  const ThreadName context{header.pid, header.tid, std::string(fixed_text(header.comm))};
  finding.thread = context;
  const SpanKind* kind = span_kind_of(span.span);
  const SpanOwner owner = kind ? kind->owner : SpanOwner::thread;
  const bool ends_in_any_thread = owner == SpanOwner::none || owner == SpanOwner::beginner;
  finding.is_bystander = ends_in_any_thread;
  if (span.begin_tid == 0 || owner == SpanOwner::none || owner == SpanOwner::thread) return;
  finding.is_bystander = false;
  if (span.begin_tid == header.tid && !context.comm.empty()) return;
  // The name in the thread's last wait may be older than an exec.
  std::string comm = namer.thread_name(span.begin_pid, span.begin_tid);
  if (comm.empty()) comm = stall.begin_comm;
  finding.thread = {span.begin_pid, span.begin_tid, std::move(comm)};
  if (!ends_in_any_thread && !(span.flags & SPAN_OPEN)) finding.ended_by = context;
}

}  // namespace overdue
