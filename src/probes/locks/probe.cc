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
  const auto size_scratch = [&](Skeleton<locks_bpf>& bpf) {
    if (options.user_stack_bytes > 0)
      check(bpf_map__set_max_entries(bpf->maps.lock_scratch, possible_cpu_count()),
            "cannot size a map");
  };
  return std::make_unique<SpanProbeOf<locks_bpf>>(SpanParts{"locks", hooks, {}}, options, shared,
                                                  kernel, size_scratch);
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
