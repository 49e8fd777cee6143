#include "probes/workqueues/probe.h"

#include "core/span_schema.h"
#include "workqueues.skel.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
    {"workqueue_queue_work", kinds_of({SPAN_WORK_QUEUED, SPAN_WORK})},
    {"workqueue_execute_start", kinds_of({SPAN_WORK_QUEUED, SPAN_WORK})},
    {"workqueue_execute_end", kinds_of({SPAN_WORK})},
};
constexpr SpanTable tables[] = {{"queued", SPAN_NONE}, {"running", SPAN_WORK}};

std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                const Kernel& kernel) {
  return std::make_unique<SpanProbeOf<workqueues_bpf>>(SpanParts{"workqueues", hooks, tables},
                                                       options, shared, kernel);
}

Support supported(const Kernel& kernel) {
  return any_span_support(kernel, hooks);
}

}  // namespace

extern const std::string_view workqueues_manual;

const ProbeInfo workqueues_probe{
    .name = "workqueues",
    .summary = "deferred work of the kernel: from queue to start, and to its end",
    .manual = workqueues_manual,
    .schemas = span_schemas,
    .support = supported};
const SpanSource workqueues_spans{.info = &workqueues_probe, .hooks = hooks, .make = make};

}  // namespace overdue
