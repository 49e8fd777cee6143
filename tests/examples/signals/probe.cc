#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "signals.h"
#include "signals.skel.h"

namespace overdue {
namespace {

constexpr auto kind = static_cast<span_kind>(SPAN_SIGNAL);
constexpr SpanHook hooks[] = {
    {"signal_generate", kinds_of({kind})},
    {"signal_deliver", kinds_of({kind})},
};
constexpr SpanTable tables[] = {{"pending", kind}};
constexpr SpanSource source{.name = "signals",
                            .hooks = hooks,
                            .tables = tables,
                            .make_probe = make_span_probe<signals_bpf>};

}  // namespace

extern const std::string_view signals_manual;
extern const ProbeInfo signals_probe;
const ProbeInfo signals_probe{.name = "signals",
                              .summary = "signals: how long each waits until a thread takes it",
                              .manual = signals_manual,
                              .schemas = span_schemas,
                              .support = span_support<source>,
                              .spans = &source};

}  // namespace overdue
