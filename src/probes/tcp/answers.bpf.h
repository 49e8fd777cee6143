/* SPDX-License-Identifier: GPL-2.0 */
/* Which data received over TCP is an answer, and whether a client of the process waits for one,
 * over TCP or a unix socket. */
#pragma once

#include "bpf/tcp_side.bpf.h"
#include "bpf/wire.h"

#define QUESTIONS_MAX 16384
#define SERVERS_MAX 1024 /* processes with clients */
#define REQUESTS_MAX 16  /* of one process; a power of 2 */

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE_WAIT 8

/* By struct sock*: tcp_sock::write_seq when an answer came last. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, QUESTIONS_MAX);
  __type(key, u64);
  __type(value, u64);
} answered SEC(".maps");

/* Data of a client that the process has received. The client waits until the process sends some. */
struct client_request {
  u64 sock;
  u64 received_ns;
  u64 inode;     /* of a unix socket; of one over TCP: 0 */
  u32 write_seq; /* then */
  u32 ports;
};

/* A request is in one of two places, which its socket determines: a server with many clients then
 * looks at two requests for each that it receives, and not at all. */
struct client_requests {
  struct client_request of[REQUESTS_MAX];
};

static const struct client_requests no_requests;

/* `key`: the inode of a unix socket, the ports of one over TCP. */
static __always_inline u32 place_of_request(u64 key) {
  return (key * 0x9e3779b97f4a7c15 >> 32) & (REQUESTS_MAX - 1);
}

/* By process. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, SERVERS_MAX);
  __type(key, u32);
  __type(value, struct client_requests);
} clients SEC(".maps");

/* Whether what was received is the first data since data was sent. What comes later, or unasked
 * for, is part of the same answer, or no answer. */
static __always_inline bool is_first_answer(const struct sock* sock) {
  u64 key = (u64)sock, written = BPF_CORE_READ((const struct tcp_sock*)sock, write_seq);
  u64* last = bpf_map_lookup_elem(&answered, &key);
  if (last && *last == written) return false;
  if (last)
    *last = written;
  else
    bpf_map_update_elem(&answered, &key, &written, BPF_ANY);
  return true;
}

static __always_inline u32 ports_between(const struct sock* sock) {
  return BPF_CORE_READ(sock, __sk_common.skc_dport) | (u32)BPF_CORE_READ(sock, __sk_common.skc_num)
                                                          << 16;
}

/* A later unix socket at the same address has another inode; 0: the process has closed the socket.
 */
static __always_inline u64 inode_of_socket(const struct sock* sock) {
  const struct socket* socket = BPF_CORE_READ(sock, sk_socket);
  return socket ? BPF_CORE_READ((const struct socket_alloc*)socket, vfs_inode.i_ino) : 0;
}

/* The socket may have been freed: then its memory is another socket's, or unused. The answer over a
 * unix socket removes the request. */
static __always_inline bool is_pending(const struct client_request* request) {
  const struct sock* sock = (const struct sock*)request->sock;
  if (!sock) return false;
  if (request->inode) return inode_of_socket(sock) == request->inode;
  u8 state = BPF_CORE_READ(sock, __sk_common.skc_state);
  return (state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT) &&
         ports_between(sock) == request->ports &&
         BPF_CORE_READ((const struct tcp_sock*)sock, write_seq) == request->write_seq;
}

/* Of more requests than there are places for, the oldest are kept: they wait longest. `inode`: of a
 * unix socket, else 0. */
static __always_inline void note_request(const struct sock* sock, u64 inode) {
  u32 pid = bpf_get_current_pid_tgid() >> 32;
  struct client_requests* known = bpf_map_lookup_elem(&clients, &pid);
  if (!known) {
    bpf_map_update_elem(&clients, &pid, &no_requests, BPF_ANY);
    known = bpf_map_lookup_elem(&clients, &pid);
    if (!known) return;
  }
  u32 ports = inode ? 0 : ports_between(sock), first = place_of_request(inode ? inode : ports);
  struct client_request* request = &known->of[first];
  struct client_request* other = &known->of[first ^ 1];
  if (other->sock == (u64)sock || (request->sock != (u64)sock && is_pending(request))) {
    request = other;
    if (request->sock != (u64)sock && is_pending(request)) return;
  }
  request->sock = (u64)sock;
  request->received_ns = bpf_ktime_get_ns();
  request->inode = inode;
  if (inode) return;
  request->write_seq = BPF_CORE_READ((const struct tcp_sock*)sock, write_seq);
  request->ports = ports;
}

/* The running process has answered over the unix socket. */
static __always_inline void forget_request(const struct sock* sock) {
  u32 pid = bpf_get_current_pid_tgid() >> 32;
  struct client_requests* known = bpf_map_lookup_elem(&clients, &pid);
  if (!known) return;
  u32 first = place_of_request(inode_of_socket(sock));
  for (u32 i = 0; i < 2; i++) {
    struct client_request* request = &known->of[first ^ i];
    if (request->sock == (u64)sock && request->inode) request->sock = 0;
  }
}

/* Whether a client of the running process has waited since `since_ns` or longer. */
static __always_inline bool has_waiting_client(u64 since_ns) {
  u32 pid = bpf_get_current_pid_tgid() >> 32;
  struct client_requests* known = bpf_map_lookup_elem(&clients, &pid);
  if (!known) return false;
  for (u32 i = 0; i < REQUESTS_MAX; i++)
    if (known->of[i].received_ns <= since_ns && is_pending(&known->of[i])) return true;
  return false;
}
