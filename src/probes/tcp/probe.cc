#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "kernel/tick.h"
#include "tcp.skel.h"

namespace overdue {
namespace {

constexpr SpanHook tcp_hooks[] = {
    {"inet_sock_set_state", kinds_of({SPAN_TCP_CONNECT})},
    {"tcp_retransmit_skb", kinds_of({SPAN_TCP_CONNECT, SPAN_TCP_ANSWER})},
    {"tcp_rcv_space_adjust", kinds_of({SPAN_TCP_ANSWER, SPAN_UNIX_ANSWER})},
    {"sock_send_length", kinds_of({SPAN_UNIX_ANSWER})},
    {"sock_recv_length", kinds_of({SPAN_UNIX_ANSWER})},
};
constexpr SpanTable tcp_tables[] = {{"connecting", SPAN_TCP_CONNECT, true}};

std::unique_ptr<SpanProbe> make_tcp_probe(const SpanSource& source, const SpanOptions& options,
                                          const SharedMaps& shared, const Kernel& kernel) {
  return make_span_probe<tcp_bpf>(source, options, shared, kernel, [](Skeleton<tcp_bpf>& bpf) {
    bpf->rodata->tick_ns = static_cast<u64>(tick_length().count());
  });
}

constexpr SpanSource tcp_source{
    .name = "tcp", .hooks = tcp_hooks, .tables = tcp_tables, .make_probe = make_tcp_probe};

}  // namespace

extern const std::string_view tcp_manual;
extern const ProbeInfo tcp_probe;
const ProbeInfo tcp_probe{.name = "tcp",
                          .summary =
                              "TCP connections: how long connecting takes, or an answer; "
                              "answers over unix sockets",
                          .manual = tcp_manual,
                          .schemas = span_schemas,
                          .support = span_support<tcp_source>,
                          .spans = &tcp_source};

}  // namespace overdue
