#include "core/span_schema.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "core/record.h"

namespace overdue {
namespace {

constexpr Field span_fields[] = {
    OVERDUE_FIELD(span_record, latency_ns, nanoseconds, duration,
                  "from its begin to its end; of one still open, its age"),
    OVERDUE_FIELD(span_record, subject, none, key,
                  "what it was of: a system call's number, an interrupt, a lock's address"),
    OVERDUE_FIELD(
        span_record, detail, none, value,
        "by kind: bytes, a sector, an errno value; of a call, the time that it was given"),
    OVERDUE_FIELD(span_record, ledger, opaque, value,
                  "ns on-CPU, in the run queue, preempted, sleeping, uninterruptible, in hard "
                  "interrupts, in soft interrupts"),
    OVERDUE_FIELD(span_record, begin_pid, pid, value, "who began it; 0: who ended it"),
    OVERDUE_FIELD(span_record, begin_tid, tid, value, "who began it; 0: who ended it"),
    OVERDUE_FIELD(span_record, span, opaque, key, "kind of span, as src/bpf/span.h numbers them"),
    OVERDUE_FIELD(
        span_record, flags, opaque, value,
        "1: has a ledger; 2: has a user stack; 4: that is cut; 8: still open; 16: failed; "
        "32: writes; 64: flushes; 128: named frames instead of memory; 256: open, and older than "
        "the session; 512: the key means nothing to people; 1024: the ledger has sums at the end"),
    OVERDUE_FIELD(span_record, kernel_frames, count, stack,
                  "addresses behind the record: the kernel stack, innermost first"),
    OVERDUE_FIELD(span_record, user_bytes, bytes, stack,
                  "bytes of user stack behind those, after 17 registers"),
    OVERDUE_FIELD(span_record, text, text, key, "name of the interrupt, the disk, the user's span"),
    OVERDUE_FIELD(span_record, throttled_ns, nanoseconds, value,
                  "of a span with a ledger: kept from running by the CPU quota of a cgroup"),
};

constexpr Field sum_fields[] = {
    OVERDUE_FIELD(span_sum, subject, none, key, "as in span, as far as their name depends on it"),
    OVERDUE_FIELD(span_sum, detail, none, key, "likewise"),
    OVERDUE_FIELD(span_sum, begin_pid, pid, key, "whose spans they are; 0: not summed by thread"),
    OVERDUE_FIELD(span_sum, begin_tid, tid, key, "likewise"),
    OVERDUE_FIELD(span_sum, span, opaque, key, "kind of span, as src/bpf/span.h numbers them"),
    OVERDUE_FIELD(span_sum, text, text, key, "name of the interrupt, the disk, the user's span"),
    OVERDUE_FIELD(span_sum, errors, count, value, "spans that ended in failure"),
    OVERDUE_FIELD(span_sum, latency, histogram, duration, "from their begin to their end"),
};

void visit_flags(const span_record& span, FieldVisitor& visitor) {
  constexpr std::pair<std::uint16_t, std::string_view> words[] = {{SPAN_OPEN, "open"},
                                                                  {SPAN_FAILED, "failed"},
                                                                  {SPAN_WRITE, "write"},
                                                                  {SPAN_FLUSH, "flush"},
                                                                  {SPAN_OLDER, "older"},
                                                                  {SPAN_STACK_CUT, "stack_cut"},
                                                                  {SPAN_KEY_HIDDEN, "key_hidden"}};
  std::vector<std::string_view> set;
  for (const auto& [flag, word] : words)
    if (span.flags & flag) set.push_back(word);
  if (!set.empty()) visitor.list("is", set);
}

void visit_ledger(const span_record& span, FieldVisitor& visitor) {
  const ledger_parts& parts = span.ledger;
  visitor.number("oncpu_ns", parts.oncpu_ns, Unit::nanoseconds);
  visitor.number("runqueue_ns", parts.runqueue_ns, Unit::nanoseconds);
  visitor.number("preempted_ns", parts.preempted_ns, Unit::nanoseconds);
  visitor.number("throttled_ns", span.throttled_ns, Unit::nanoseconds);
  visitor.number("sleeping_ns", parts.sleeping_ns, Unit::nanoseconds);
  visitor.number("uninterruptible_ns", parts.uninterruptible_ns, Unit::nanoseconds);
  visitor.number("irq_ns", parts.irq_ns, Unit::nanoseconds);
  visitor.number("softirq_ns", parts.softirq_ns, Unit::nanoseconds);
}

/// Visits the addresses after the fixed part, as many as the record really has.
void visit_kernel_stack(const Record& record, const span_record& span, FieldVisitor& visitor) {
  std::vector<std::string> frames;
  for (std::size_t i = 0; i < span.kernel_frames; ++i) {
    const std::size_t at = sizeof span + i * sizeof(u64);
    if (at + sizeof(u64) > record.bytes.size()) break;
    frames.push_back(fmt::format("{:#x}", record.at<u64>(at)));
  }
  if (frames.empty()) return;
  const std::vector<std::string_view> views(frames.begin(), frames.end());
  visitor.list("kernel_stack", views);
}

void visit_span(const Record& record, const Names&, FieldVisitor& visitor) {
  const auto span = record.as<span_record>();
  visitor.text("span", span_name(span.span));
  visitor.text("name", span_subject(span));
  visitor.number("latency_ns", span.latency_ns, Unit::nanoseconds);
  visitor.number("subject", span.subject, Unit::none);
  visitor.number("detail", span.detail, Unit::none);
  if (const SpanKind* kind = span_kind_of(span.span); kind && kind->visit)
    kind->visit(span, visitor);
  if (span.begin_tid != 0) {
    visitor.number("begin_pid", span.begin_pid, Unit::pid);
    visitor.number("begin_tid", span.begin_tid, Unit::tid);
  }
  visit_flags(span, visitor);
  if (span.flags & SPAN_HAS_LEDGER) visit_ledger(span, visitor);
  visit_kernel_stack(record, span, visitor);
}

void visit_sum(const Record& record, const Names&, FieldVisitor& visitor) {
  const span_record span = span_of(record.as<span_sum>());
  visitor.text("span", span_name(span.span));
  visitor.text("name", span_subject(span));
  for (const Field& field : sum_fields) visit_field(record, field, visitor);
}

}  // namespace

span_record span_of(const span_sum& sum) {
  span_record span{};
  span.header = sum.header;
  span.subject = sum.subject;
  span.detail = sum.detail;
  span.begin_pid = sum.begin_pid;
  span.begin_tid = sum.begin_tid;
  span.span = sum.span;
  std::memcpy(span.text, sum.text, sizeof span.text);
  return span;
}

const Schema span_schema{.id = RECORD_SPAN,
                         .name = "span",
                         .size = sizeof(span_record),
                         .fields = span_fields,
                         .help = "a span that took as long as its threshold or longer",
                         .visit = visit_span};

const Schema span_sum_schema{.id = RECORD_SPAN_SUM,
                             .name = "span_sum",
                             .size = sizeof(span_sum),
                             .fields = sum_fields,
                             .help = "the spans of one kind and name, since the last such record",
                             .visit = visit_sum};

}  // namespace overdue
