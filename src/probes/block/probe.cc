#include "probes/block/probe.h"

#include "block.skel.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
    {"block_rq_insert", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
    {"block_rq_issue", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
    {"block_rq_requeue", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
    {"block_rq_merge", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED}), true},
    {"block_rq_complete", kinds_of({SPAN_BLOCK, SPAN_BLOCK_QUEUED})},
};
constexpr SpanTable tables[] = {{"requests", SPAN_BLOCK_QUEUED, true}};

std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                const Kernel& kernel) {
  return std::make_unique<SpanProbeOf<block_bpf>>(SpanParts{"block", hooks, tables}, options,
                                                  shared, kernel);
}

Support supported(const Kernel& kernel) {
  return any_span_support(kernel, hooks);
}

}  // namespace

extern const std::string_view block_manual;

const ProbeInfo block_probe{
    .name = "block",
    .summary = "requests to block devices: in the device, and with the time in its queue",
    .manual = block_manual,
    .schemas = span_schemas,
    .support = supported};
const SpanSource block_spans{.info = &block_probe, .hooks = hooks, .make = make};

}  // namespace overdue
