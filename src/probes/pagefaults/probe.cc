#include <linux/perf_event.h>

#include "core/span_schema.h"
#include "kernel/span_probe.h"
#include "pagefaults.skel.h"

namespace overdue {
namespace {

constexpr SpanHook pagefault_hooks[] = {
    {"page_fault_user", kinds_of({SPAN_PAGEFAULT})},
    {"page_fault_kernel", kinds_of({SPAN_PAGEFAULT})},
};
constexpr SpanEvent pagefault_events[] = {
    {"minor_faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, kinds_of({SPAN_PAGEFAULT})},
    {"major_faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, kinds_of({SPAN_PAGEFAULT})},
};

constexpr SpanSource pagefault_source{.name = "pagefaults",
                                      .hooks = pagefault_hooks,
                                      .events = pagefault_events,
                                      .make_probe = make_span_probe<pagefaults_bpf>};

}  // namespace

extern const std::string_view pagefaults_manual;
extern const ProbeInfo pagefaults_probe;
const ProbeInfo pagefaults_probe{
    .name = "pagefaults",
    .summary = "page faults: of which file, minor or major, and how long each takes",
    .manual = pagefaults_manual,
    .schemas = span_schemas,
    .support = span_support<pagefault_source>,
    .spans = &pagefault_source};

}  // namespace overdue
