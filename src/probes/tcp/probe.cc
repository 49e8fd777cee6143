#include "probes/tcp/probe.h"

#include "core/span_schema.h"
#include "tcp.skel.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
    {"inet_sock_set_state", kinds_of({SPAN_TCP_CONNECT})},
};
constexpr SpanTable tables[] = {{"connecting", SPAN_TCP_CONNECT}};

std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                const Kernel& kernel) {
  return std::make_unique<SpanProbeOf<tcp_bpf>>(SpanParts{"tcp", hooks, tables}, options, shared,
                                                kernel);
}

Support supported(const Kernel& kernel) {
  return any_span_support(kernel, hooks);
}

}  // namespace

extern const std::string_view tcp_manual;

const ProbeInfo tcp_probe{.name = "tcp",
                          .summary = "TCP connections: how long connecting takes, or failing to",
                          .manual = tcp_manual,
                          .schemas = span_schemas,
                          .support = supported};
const SpanSource tcp_spans{.info = &tcp_probe, .hooks = hooks, .make = make};

}  // namespace overdue
