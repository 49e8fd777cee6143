#include "core/span_kinds.h"

#include <algorithm>

namespace overdue {
namespace {

constexpr SpanKindInfo kinds[] = {
    {SPAN_SYSCALL, "syscall", "a system call, from entry to exit"},
    {SPAN_OFFCPU, "offcpu", "a thread off the CPU, from switched out to switched in"},
    {SPAN_WAKEUP, "wakeup", "a thread from being woken to running"},
    {SPAN_BLOCK, "block", "a block request in the device, from issue to completion"},
    {SPAN_BLOCK_QUEUED, "block_queued", "a block request from being queued to completion"},
    {SPAN_IRQ, "irq", "the handler of a device's interrupt"},
    {SPAN_SOFTIRQ, "softirq", "the handler of a soft interrupt"},
    {SPAN_SOFTIRQ_RAISE, "softirq_raise", "a soft interrupt from being raised to its handler"},
    {SPAN_VECTOR, "vector", "an interrupt of the CPU's own: local timer, reschedule, …"},
    {SPAN_TIMER, "timer", "how late a high-resolution timer expires"},
    {SPAN_WORK_QUEUED, "work_queued", "work for the kernel's workers from queue to start"},
    {SPAN_WORK, "work", "such work from start to end"},
    {SPAN_LOCK, "lock", "a wait for a lock of the kernel that another holds"},
    {SPAN_TCP_CONNECT, "tcp_connect", "a TCP connection from SYN sent to established or refused"},
    {SPAN_PAIR, "pair", "a span of the user's own"},
};

const SpanKindInfo* info_of(std::uint16_t kind) {
  const auto found = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const SpanKindInfo& one) { return one.kind == kind; });
  return found == std::end(kinds) ? nullptr : &*found;
}

}  // namespace

std::span<const SpanKindInfo> span_kinds() {
  return kinds;
}

std::optional<span_kind> find_span_kind(std::string_view name) {
  const auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](const SpanKindInfo& one) {
    return one.name == name && one.kind != SPAN_PAIR;
  });
  if (found == std::end(kinds)) return std::nullopt;
  return found->kind;
}

span_kind known_span_kind(std::uint16_t kind) {
  const SpanKindInfo* info = info_of(kind);
  return info ? info->kind : SPAN_NONE;
}

std::string_view span_name(std::uint16_t kind) {
  const SpanKindInfo* info = info_of(kind);
  return info ? info->name : "unknown";
}

bool is_of_thread(std::uint16_t kind) {
  return kind == SPAN_SYSCALL || kind == SPAN_OFFCPU || kind == SPAN_WAKEUP || kind == SPAN_WORK ||
         kind == SPAN_LOCK;
}

}  // namespace overdue
