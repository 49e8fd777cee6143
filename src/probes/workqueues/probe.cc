#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "workqueues.skel.h"

namespace overdue {
namespace {

constexpr SpanHook work_hooks[] = {
    {"workqueue_queue_work", kinds_of({SPAN_WORK_QUEUED, SPAN_WORK})},
    {"workqueue_execute_start", kinds_of({SPAN_WORK_QUEUED, SPAN_WORK})},
    {"workqueue_execute_end", kinds_of({SPAN_WORK})},
};
constexpr SpanTable work_tables[] = {{"queued", SPAN_NONE}, {"running", SPAN_WORK}};

constexpr SpanSource work_source{.name = "workqueues",
                                 .hooks = work_hooks,
                                 .tables = work_tables,
                                 .make_probe = make_span_probe<workqueues_bpf>};

}  // namespace

extern const std::string_view workqueues_manual;
extern const ProbeInfo workqueues_probe;
const ProbeInfo workqueues_probe{
    .name = "workqueues",
    .summary = "deferred work of the kernel: from queue to start, and to its end",
    .manual = workqueues_manual,
    .schemas = span_schemas,
    .support = span_support<work_source>,
    .spans = &work_source};

}  // namespace overdue
