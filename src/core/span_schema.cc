#include "core/span_schema.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "core/record.h"

namespace overdue {
namespace {

constexpr std::string_view names[] = {
    "",     "syscall", "offcpu",        "wakeup", "block", "block-queued",
    "irq",  "softirq", "softirq-raise", "vector", "timer", "work-queued",
    "work", "lock",    "tcp-connect",   "pair"};
static_assert(std::size(names) == SPAN_COUNT);

constexpr Field part_field(std::string_view name, std::size_t offset, std::string_view help) {
  return {name,        static_cast<std::uint16_t>(offsetof(span_record, ledger) + offset),
          sizeof(u64), Unit::nanoseconds,
          Role::value, help};
}
#define PART_FIELD(member, help) part_field(#member, offsetof(ledger_parts, member), help)

constexpr Field fields[] = {
    OVERDUE_FIELD(span_record, latency_ns, nanoseconds, duration, "from its begin to its end"),
    OVERDUE_FIELD(span_record, subject, none, key,
                  "by kind: number of a system call or an interrupt, address of a function or a "
                  "lock, device and sector, IPv4 addresses, the user's key"),
    OVERDUE_FIELD(span_record, detail, none, value,
                  "by kind: bytes of a block request, flags of a lock, ports and errno of a "
                  "connection"),
    PART_FIELD(oncpu_ns, "of it, on a CPU"),
    PART_FIELD(runqueue_ns, "of it, woken and waiting for a CPU"),
    PART_FIELD(preempted_ns, "of it, displaced by another thread"),
    PART_FIELD(sleeping_ns, "of it, blocked, interruptible (S)"),
    PART_FIELD(uninterruptible_ns, "of it, blocked, uninterruptible (D)"),
    PART_FIELD(irq_ns, "of it, taken by hard interrupts"),
    PART_FIELD(softirq_ns, "of it, taken by soft interrupts"),
    OVERDUE_FIELD(span_record, begin_pid, pid, key,
                  "process that began it, where that may be another than the one that ended it"),
    OVERDUE_FIELD(span_record, begin_tid, tid, key, "thread that began it, likewise"),
    OVERDUE_FIELD(span_record, span, opaque, key, "what kind of span"),
    OVERDUE_FIELD(span_record, flags, opaque, value,
                  "1: has a ledger; 2: has a user stack; 4: which is cut; 8: still open; "
                  "16: failed; 32: writes; 64: flushes"),
    OVERDUE_FIELD(span_record, kernel_frames, opaque, value,
                  "addresses of the kernel stack behind the record"),
    OVERDUE_FIELD(span_record, user_bytes, opaque, value, "bytes of user stack behind those"),
    OVERDUE_FIELD(span_record, text, text, value,
                  "by kind: name of the interrupt, disk, workqueue, kind of lock"),
};

std::string dotted(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255);
}

/// From 32 hexadecimal digits; as they are where they are none.
std::string ipv6(std::string_view digits) {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, bytes[i], 16);
    if (error != std::errc() || end != at + 2) return {};
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) ? text.data() : "";
}

bool is_softirq(std::uint16_t kind) {
  return kind == SPAN_SOFTIRQ || kind == SPAN_SOFTIRQ_RAISE;
}

void visit_flags(const span_record& span, FieldVisitor& visitor) {
  constexpr std::pair<std::uint16_t, std::string_view> words[] = {{SPAN_OPEN, "open"},
                                                                  {SPAN_FAILED, "failed"},
                                                                  {SPAN_WRITE, "write"},
                                                                  {SPAN_FLUSH, "flush"},
                                                                  {SPAN_STACK_CUT, "stack_cut"}};
  std::vector<std::string_view> set;
  for (const auto& [flag, word] : words)
    if (span.flags & flag) set.push_back(word);
  if (!set.empty()) visitor.list("is", set);
}

void visit_ledger(const ledger_parts& parts, FieldVisitor& visitor) {
  visitor.number("oncpu_ns", parts.oncpu_ns, Unit::nanoseconds);
  visitor.number("runqueue_ns", parts.runqueue_ns, Unit::nanoseconds);
  visitor.number("preempted_ns", parts.preempted_ns, Unit::nanoseconds);
  visitor.number("sleeping_ns", parts.sleeping_ns, Unit::nanoseconds);
  visitor.number("uninterruptible_ns", parts.uninterruptible_ns, Unit::nanoseconds);
  visitor.number("irq_ns", parts.irq_ns, Unit::nanoseconds);
  visitor.number("softirq_ns", parts.softirq_ns, Unit::nanoseconds);
}

/// The addresses behind the record, as many as it really has.
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

void visit_connect(const span_record& span, FieldVisitor& visitor) {
  const ConnectEnds ends = connect_ends(span);
  visitor.text("local", ends.local);
  if (ends.error != 0) visitor.number("errno", static_cast<u64>(ends.error), Unit::none);
}

void visit_span(const Record& record, const Names&, FieldVisitor& visitor) {
  const auto span = record.as<span_record>();
  const std::string_view kind = span_kind_name(span.span);
  visitor.text("span", kind.empty() ? "unknown" : kind);
  visitor.text("name", span_subject(span));
  visitor.number("latency_ns", span.latency_ns, Unit::nanoseconds);
  visitor.number("subject", span.subject, Unit::none);
  visitor.number("detail", span.detail, Unit::none);
  if (span.span == SPAN_TCP_CONNECT) visit_connect(span, visitor);
  if (span.begin_tid != 0) {
    visitor.number("begin_pid", span.begin_pid, Unit::pid);
    visitor.number("begin_tid", span.begin_tid, Unit::tid);
  }
  visit_flags(span, visitor);
  if (span.flags & SPAN_HAS_LEDGER) visit_ledger(span.ledger, visitor);
  visit_kernel_stack(record, span, visitor);
}

}  // namespace

const Schema span_schema{.id = RECORD_SPAN,
                         .name = "span",
                         .size = sizeof(span_record),
                         .fields = fields,
                         .help = "a span that took as long as its threshold or longer",
                         .visit = visit_span};

std::string_view span_kind_name(std::uint16_t kind) {
  return kind < std::size(names) ? names[kind] : std::string_view();
}

ConnectEnds connect_ends(const span_record& span) {
  const auto remote_port = static_cast<std::uint16_t>(span.detail);
  const auto local_port = static_cast<std::uint16_t>(span.detail >> 16);
  const auto family = static_cast<std::uint16_t>(span.detail >> 32);
  ConnectEnds ends;
  ends.error = static_cast<int>(span.detail >> 48);
  if (family == AF_INET6) {
    ends.remote = fmt::format("[{}]:{}", ipv6({span.text, sizeof span.text}), remote_port);
    ends.local = fmt::format(":{}", local_port);
  } else {
    ends.remote = fmt::format("{}:{}", dotted(static_cast<u32>(span.subject)), remote_port);
    ends.local = fmt::format("{}:{}", dotted(static_cast<u32>(span.subject >> 32)), local_port);
  }
  return ends;
}

std::string span_subject(const span_record& span) {
  if (span.span == SPAN_TCP_CONNECT) return connect_ends(span).remote;
  const std::string_view text = fixed_text(span.text);
  if (text.empty() && (span.span == SPAN_IRQ || span.span == SPAN_VECTOR || is_softirq(span.span)))
    return fmt::to_string(span.subject);
  return std::string(text);
}

}  // namespace overdue
