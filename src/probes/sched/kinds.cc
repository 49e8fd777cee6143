#include "core/span_kinds.h"

namespace overdue {
namespace {

/// Both are waits: the analysis makes these spans from the records of waits, and describes them.
constexpr SpanKind kinds[] = {
    {.number = SPAN_OFFCPU,
     .name = "offcpu",
     .sentence = "a thread off the CPU, from switched out to switched in",
     .owner = SpanOwner::thread},
    {.number = SPAN_WAKEUP,
     .name = "wakeup",
     .sentence = "a thread from being woken to running",
     .owner = SpanOwner::thread},
};

}  // namespace

extern const std::span<const SpanKind> sched_kinds;
const std::span<const SpanKind> sched_kinds = kinds;

}  // namespace overdue
