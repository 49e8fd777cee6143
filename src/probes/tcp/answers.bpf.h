/* SPDX-License-Identifier: GPL-2.0 */
/* Which data received over TCP is an answer, and whether a client of the process waits for one,
 * over TCP or a unix socket. */
#pragma once

#include "bpf/tcp_side.bpf.h"
#include "bpf/wire.h"

#define QUESTIONS_MAX 16384
#define SERVERS_MAX 1024 /* processes with clients */
#define REQUESTS_MAX 8   /* of one process */

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

struct client_requests {
  struct client_request of[REQUESTS_MAX];
};

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

/* Of more requests than there is room for, the oldest are kept: they wait longest. `inode`: of a
 * unix socket, else 0. */
static __always_inline void note_request(const struct sock* sock, u64 inode) {
  u32 pid = bpf_get_current_pid_tgid() >> 32;
  struct client_requests* known = bpf_map_lookup_elem(&clients, &pid);
  if (!known) {
    struct client_requests none = {};
    bpf_map_update_elem(&clients, &pid, &none, BPF_ANY);
    known = bpf_map_lookup_elem(&clients, &pid);
    if (!known) return;
  }
  u32 room = REQUESTS_MAX;
  for (u32 i = 0; i < REQUESTS_MAX; i++) {
    if (known->of[i].sock == (u64)sock) {
      room = i;
      break;
    }
    if (room == REQUESTS_MAX && !is_pending(&known->of[i])) room = i;
  }
  if (room >= REQUESTS_MAX) return;
  struct client_request* request = &known->of[room];
  request->sock = (u64)sock;
  request->received_ns = bpf_ktime_get_ns();
  request->inode = inode;
  if (inode) return;
  request->write_seq = BPF_CORE_READ((const struct tcp_sock*)sock, write_seq);
  request->ports = ports_between(sock);
}

/* The running process has answered over the unix socket. */
static __always_inline void forget_request(const struct sock* sock) {
  u32 pid = bpf_get_current_pid_tgid() >> 32;
  struct client_requests* known = bpf_map_lookup_elem(&clients, &pid);
  if (!known) return;
  for (u32 i = 0; i < REQUESTS_MAX; i++)
    if (known->of[i].sock == (u64)sock && known->of[i].inode) known->of[i].sock = 0;
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
