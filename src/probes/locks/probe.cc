#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "locks.skel.h"

namespace overdue {
namespace {

constexpr SpanHook lock_hooks[] = {
    {"contention_begin", kinds_of({SPAN_LOCK})},
    {"contention_end", kinds_of({SPAN_LOCK})},
};

constexpr SpanSource lock_source{
    .name = "locks", .hooks = lock_hooks, .make_probe = make_span_probe<locks_bpf>};

}  // namespace

extern const std::string_view locks_manual;
extern const ProbeInfo locks_probe;
const ProbeInfo locks_probe{
    .name = "locks",
    .summary = "waits for the kernel's own locks: mutexes, semaphores, spinlocks",
    .manual = locks_manual,
    .schemas = span_schemas,
    .support = span_support<lock_source>,
    .spans = &lock_source};

}  // namespace overdue
