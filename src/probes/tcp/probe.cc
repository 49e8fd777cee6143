#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "tcp.skel.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
    {"inet_sock_set_state", kinds_of({SPAN_TCP_CONNECT})},
    {"tcp_retransmit_skb", kinds_of({SPAN_TCP_CONNECT})},
};
constexpr SpanTable tables[] = {{"connecting", SPAN_TCP_CONNECT, true}};

constexpr SpanSource source{
    .name = "tcp", .hooks = hooks, .tables = tables, .make_probe = make_span_probe<tcp_bpf>};

}  // namespace

extern const std::string_view tcp_manual;
extern const ProbeInfo tcp_probe;
const ProbeInfo tcp_probe{.name = "tcp",
                          .summary = "TCP connections: how long connecting takes, or failing to",
                          .manual = tcp_manual,
                          .schemas = span_schemas,
                          .support = span_support<source>,
                          .spans = &source};

}  // namespace overdue
