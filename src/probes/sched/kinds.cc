#include "bpf/sched.h"
#include "core/span_kinds.h"
#include "core/wait_names.h"

namespace overdue {
namespace {

/// Of a sum of waits, `subject`: enum wait_state.
std::string state_of(const span_record& span) {
  return std::string(wait_state_name(static_cast<u32>(span.subject)));
}

/// Of a sum of wake-ups, `subject`: enum waker_context << 32 | number; `text`: of an interrupt.
std::string waker_of(const span_record& span) {
  return waker_name(static_cast<u32>(span.subject >> 32), static_cast<u32>(span.subject),
                    span_text(span));
}

/// Both are waits: the analysis makes these spans from the records of waits, and describes them.
constexpr SpanKind switch_kinds[] = {
    {.number = SPAN_OFFCPU,
     .name = "offcpu",
     .sentence = "a thread off the CPU, from switched out to switched in",
     .owner = SpanOwner::thread,
     .summed_by = {.subject = all_bits},
     .subject = state_of},
    {.number = SPAN_WAKEUP,
     .name = "wakeup",
     .sentence = "a thread from being woken to running",
     .owner = SpanOwner::thread,
     .summed_by = {.subject = all_bits},
     .subject = waker_of},
};

}  // namespace

extern const std::span<const SpanKind> sched_kinds;
const std::span<const SpanKind> sched_kinds = switch_kinds;

}  // namespace overdue
