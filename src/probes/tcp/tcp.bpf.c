// SPDX-License-Identifier: GPL-2.0
// How long a TCP connection takes to be made, or to fail: from SYN sent to established, or closed;
// and an answer over a connection, also over a unix socket.
#include "bpf/resends.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/unpreempted.bpf.h"
#include "probes/tcp/answers.bpf.h"
#include "probes/tcp/listener.bpf.h"
#include "probes/tcp/unix_answers.bpf.h"

#define CONNECTIONS_MAX 8192

/* include/net/tcp_states.h, include/linux/socket.h, include/uapi/linux/in.h */
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define AF_INET6 10
#define IPPROTO_TCP 6

/* By struct sock*, from SYN sent until the state changes, as it does for every socket. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, CONNECTIONS_MAX);
  __type(key, u64);
  __type(value, struct named_span);
} connecting SEC(".maps");

/* Without branches, of which the verifier would check every combination. */
static __always_inline char hex_digit(u8 value) {
  return '0' + value + ((9 - (int)value) >> 31 & ('a' - '0' - 10));
}

static __always_inline u8 hex_value(char digit) {
  return (digit & 15) + (digit >> 6) * 9;
}

/* For the layout see probes/tcp/kinds.h. */
static __always_inline u64 addresses_of(const struct sock* sock) {
  if (sock->__sk_common.skc_family == AF_INET6) return 0;
  return (u64)__builtin_bswap32(sock->__sk_common.skc_rcv_saddr) << 32 |
         __builtin_bswap32(sock->__sk_common.skc_daddr);
}

static __always_inline u64 ports_of(const struct sock* sock) {
  u64 local_port = __builtin_bswap16(BPF_CORE_READ((struct inet_sock*)sock, inet_sport));
  return __builtin_bswap16(sock->__sk_common.skc_dport) | local_port << 16 |
         (u64)sock->__sk_common.skc_family << 32;
}

static __always_inline void write_address(char* text, const struct sock* sock) {
  u8 remote[16];
  bpf_probe_read_kernel(remote, sizeof(remote), &sock->__sk_common.skc_v6_daddr);
  for (u32 i = 0; i < sizeof(remote); i++) {
    text[2 * i] = hex_digit(remote[i] >> 4);
    text[2 * i + 1] = hex_digit(remote[i] & 15);
  }
}

/* The number of SYNs, and the fullest state of the listener's queue that a SYN met. */
static __always_inline u64 tries_of(u64 before, const struct sock* sock) {
  struct accept_queue queue = queue_asked_by(sock);
  u64 syns = (before >> 48) + 1, state = before & 0xffffffffffff;
  u32 length = queue.length < 0xffffff ? queue.length : 0xffffff;
  u32 limit = queue.limit < 0xffffff ? queue.limit : 0xffffff;
  bool is_fuller = length > limit || (state >> 24) <= (state & 0xffffff);
  if (queue.is_known && is_fuller) state = (u64)length << 24 | limit;
  return (syns < 0xffff ? syns : 0xffff) << 48 | state;
}

/* An IPv6 address takes the whole text, and leaves `subject` free. */
static __always_inline void put_tries(struct named_span* span, const struct sock* sock) {
  if (sock->__sk_common.skc_family == AF_INET6) {
    span->by.subject = tries_of(span->by.subject, sock);
    return;
  }
  u64 before = 0;
  for (u32 i = 0; i < 16; i++) before = before << 4 | hex_value(span->text[i]);
  u64 tries = tries_of(before, sock);
  for (u32 i = 0; i < 16; i++) span->text[i] = hex_digit(tries >> (60 - 4 * i) & 15);
}

static __always_inline void begin_connect(const struct sock* sock) {
  if (!counts_here()) return;
  struct named_span begin = {.by = {.subject = addresses_of(sock), .detail = ports_of(sock)}};
  u64 key = (u64)sock;
  begin_span(&begin.by);
  if (sock->__sk_common.skc_family == AF_INET6) write_address(begin.text, sock);
  put_tries(&begin, sock);
  if (bpf_map_update_elem(&connecting, &key, &begin, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
}

static __always_inline void end_connect(const struct sock* sock, u64 threshold_ns, int from,
                                        int to) {
  u64 key = (u64)sock;
  struct named_span* begun = bpf_map_lookup_elem(&connecting, &key);
  if (!begun) {
    /* Of the connecting side, not of the accepting one. */
    if (from == TCP_SYN_SENT && whole_machine && cpu_wanted()) count(COUNTER_CUT, 1);
    return;
  }
  struct ended_span span = {.kind = SPAN_TCP_CONNECT};
  bool cut = begun->by.begin_ns < control.since_ns[SPAN_TCP_CONNECT];
  end_span(&span, &begun->by);
  __builtin_memcpy(span.text, begun->text, sizeof(span.text));
  bpf_map_delete_elem(&connecting, &key);
  if (cut) {
    count(COUNTER_CUT, 1);
    return;
  }
  count_span(SPAN_TCP_CONNECT, span.latency_ns);
  if (span.latency_ns < threshold_ns) return;
  span.detail = ports_of(sock) | (u64)(u16)sock->sk_err << 48;
  if (to != TCP_ESTABLISHED) span.flags = SPAN_FAILED;
  emit_span(&span);
}

SEC("?tp_btf/inet_sock_set_state")
int UNPREEMPTED_PROG(on_set_state, const struct sock* sock, int from, int to) {
  u64 threshold_ns = threshold_of(SPAN_TCP_CONNECT);
  if (!threshold_ns || sock->sk_protocol != IPPROTO_TCP) return 0;
  if (to == TCP_SYN_SENT)
    begin_connect(sock);
  else if (from == TCP_SYN_SENT && to == TCP_SYN_RECV)
    return 0; /* both sides connect at once: the span goes on */
  else if (from == TCP_SYN_SENT || from == TCP_SYN_RECV)
    end_connect(sock, threshold_ns, from, to);
  return 0;
}

/* A SYN is sent again: the connection has not been made. Or data. */
SEC("?tp_btf/tcp_retransmit_skb")
int UNPREEMPTED_PROG(on_retransmit, const struct sock* sock) {
  if (sock->__sk_common.skc_state != TCP_SYN_SENT) {
    if (threshold_of(SPAN_TCP_ANSWER)) note_resend(sock);
    return 0;
  }
  if (!threshold_of(SPAN_TCP_CONNECT)) return 0;
  u64 key = (u64)sock;
  struct named_span* span = bpf_map_lookup_elem(&connecting, &key);
  if (!span) return 0;
  span->by.detail = ports_of(sock); /* the local port is chosen after SYN_SENT is set */
  put_tries(span, sock);
  return 0;
}

const volatile u64 tick_ns; /* length of a jiffy; 0: unknown */

/* For the layout see probes/tcp/kinds.h. */
static __always_inline u64 resends_in_detail(const struct resends* of, u64 latency_ns) {
  u64 tries_ns = ns_between(of->sent_ns, of->last_ns);
  u64 part = tries_ns < latency_ns ? tries_ns * 255 / latency_ns : 255;
  return (of->count < 255 ? of->count : 255) << 48 | part << 56;
}

/* The kernel's notes of the last data sent and received have steps of a tick. */
static __always_inline void end_question(const struct sock* sock, u64 threshold_ns) {
  u32 sent = BPF_CORE_READ((const struct tcp_sock*)sock, lsndtime);
  u32 received = BPF_CORE_READ((const struct inet_connection_sock*)sock, icsk_ack.lrcvtime);
  if (!sent || (s32)(received - sent) < 0 || !is_first_answer(sock)) return;
  struct ended_span span = {.kind = SPAN_TCP_ANSWER, .now_ns = bpf_ktime_get_ns()};
  u64 sent_ns = span.now_ns - (u64)((u32)bpf_jiffies64() - sent) * tick_ns;
  span.latency_ns = (u64)(received - sent) * tick_ns;
  const struct resends* again = resends_of(sock, sent_ns, tick_ns);
  if (again) { /* the note is of the last try */
    span.latency_ns += ns_between(again->sent_ns, sent_ns);
    span.detail = resends_in_detail(again, span.latency_ns);
    sent_ns = again->sent_ns;
  }
  if (sent_ns + tick_ns < control.since_ns[SPAN_TCP_ANSWER]) { /* surely from before */
    count(COUNTER_CUT, 1);
    return;
  }
  count(COUNTER_SPANS, 1);
  if (span.latency_ns < threshold_ns) return;
  u64 ids = bpf_get_current_pid_tgid();
  span.begin_pid = ids >> 32;
  span.begin_tid = ids;
  span.subject = addresses_of(sock);
  span.detail |= ports_of(sock);
  if (sock->__sk_common.skc_family == AF_INET6) write_address(span.text, sock);
  if (has_waiting_client(sent_ns + tick_ns)) span.flags = SPAN_FOR_CLIENT;
  emit_span(&span);
}

/* A thread takes received data. */
SEC("?tp_btf/tcp_rcv_space_adjust")
int UNPREEMPTED_PROG(on_received, const struct sock* sock) {
  u64 threshold_ns = tick_ns ? threshold_of(SPAN_TCP_ANSWER) : 0;
  if ((!threshold_ns && !threshold_of(SPAN_UNIX_ANSWER)) || !counts_here()) return 0;
  enum tcp_side side = tcp_side_of(sock);
  if (side == TCP_SERVER) note_request(sock, 0);
  if (side == TCP_CLIENT && threshold_ns) end_question(sock, threshold_ns);
  return 0;
}

/* A thread has sent data over a socket of any family. */
SEC("?tp_btf/sock_send_length")
int UNPREEMPTED_PROG(on_sent, const struct sock* sock, int result, int flags) {
  if (result > 0 && threshold_of(SPAN_UNIX_ANSWER)) on_unix_sent(sock);
  return 0;
}

SEC("?tp_btf/sock_recv_length")
int UNPREEMPTED_PROG(on_taken, const struct sock* sock, int result, int flags) {
  u64 threshold_ns = threshold_of(SPAN_UNIX_ANSWER);
  if (result > 0 && threshold_ns && !(flags & MSG_PEEK)) on_unix_received(sock, threshold_ns);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
