#include "probes/locks/probe.h"

#include "core/span_schema.h"
#include "locks.skel.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
    {"contention_begin", kinds_of({SPAN_LOCK})},
    {"contention_end", kinds_of({SPAN_LOCK})},
};

std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                const Kernel& kernel) {
  return std::make_unique<SpanProbeOf<locks_bpf>>(SpanParts{"locks", hooks, {}}, options, shared,
                                                  kernel);
}

Support supported(const Kernel& kernel) {
  return any_span_support(kernel, hooks);
}

}  // namespace

extern const std::string_view locks_manual;

const ProbeInfo locks_probe{
    .name = "locks",
    .summary = "waits for the kernel's own locks: mutexes, semaphores, spinlocks",
    .manual = locks_manual,
    .schemas = span_schemas,
    .support = supported};
const SpanSource locks_spans{.info = &locks_probe, .hooks = hooks, .make = make};

}  // namespace overdue
