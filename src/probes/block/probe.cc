#include "kernel/span_probe.h"

#include "block.skel.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

constexpr SpanHook block_hooks[] = {
    {"block_rq_insert", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
    {"block_rq_issue", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
    {"block_rq_requeue", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
    {"block_rq_merge", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED}), true},
    {"block_rq_complete", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
};
constexpr SpanTable block_tables[] = {{"requests", SPAN_BLOCK_QUEUED, true}};

constexpr SpanSource block_source{.name = "block",
                                  .hooks = block_hooks,
                                  .tables = block_tables,
                                  .make_probe = make_span_probe<block_bpf>};

}  // namespace

extern const std::string_view block_manual;
extern const ProbeInfo block_probe;
const ProbeInfo block_probe{
    .name = "block",
    .summary = "requests to block devices: in the device, and with the time in its queue",
    .manual = block_manual,
    .schemas = span_schemas,
    .support = span_support<block_source>,
    .spans = &block_source};

}  // namespace overdue
