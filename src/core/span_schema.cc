#include "core/span_schema.h"

#include <array>
#include <cstddef>

namespace overdue {
namespace {

constexpr std::array<std::string_view, SPAN_COUNT> names = {
    "none", "syscall", "offcpu",        "wakeup", "block", "block_queued",
    "irq",  "softirq", "softirq_raise", "vector", "timer", "work_queued",
    "work", "lock",    "tcp_connect",   "pair"};

constexpr Field fields[] = {
    OVERDUE_FIELD(span_record, latency_ns, nanoseconds, duration,
                  "from its begin to its end; of one still open, its age"),
    OVERDUE_FIELD(span_record, subject, none, key,
                  "what it was of: a system call's number, an interrupt, a lock's address"),
    OVERDUE_FIELD(span_record, detail, none, value, "by kind: bytes, a sector, an errno value"),
    OVERDUE_FIELD(span_record, ledger, opaque, value,
                  "ns on-CPU, in the run queue, preempted, sleeping, uninterruptible, in hard "
                  "interrupts, in soft interrupts"),
    OVERDUE_FIELD(span_record, begin_pid, pid, value, "who began it; 0: who ended it"),
    OVERDUE_FIELD(span_record, begin_tid, tid, value, "who began it; 0: who ended it"),
    OVERDUE_FIELD(span_record, span, none, key, "kind of span, as src/bpf/span.h numbers them"),
    OVERDUE_FIELD(
        span_record, flags, none, value,
        "1: has a ledger; 2: has a user stack; 4: that is cut; 8: still open; 16: failed"),
    OVERDUE_FIELD(span_record, kernel_frames, count, stack,
                  "addresses behind the record: the kernel stack, innermost first"),
    OVERDUE_FIELD(span_record, user_bytes, bytes, stack,
                  "bytes of user stack behind those, after 17 registers"),
    OVERDUE_FIELD(span_record, text, text, key, "name of the interrupt, the disk, the user's span"),
};

}  // namespace

std::string_view span_name(std::uint16_t kind) {
  return kind > SPAN_NONE && kind < SPAN_COUNT ? names[kind] : "unknown";
}

const Schema span_schema{.id = RECORD_SPAN,
                         .name = "span",
                         .size = sizeof(span_record),
                         .fields = fields,
                         .help = "a span that took as long as its threshold, or longer"};

}  // namespace overdue
