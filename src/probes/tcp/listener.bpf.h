/* SPDX-License-Identifier: GPL-2.0 */
/* The socket of this machine that a connection is asked from, and how full its queue of connections
 * is that no program has accepted. The kernel drops requests silently while the queue is full. */
#pragma once

#include "bpf/kernel.h"

#define TCP_LISTEN 10
#define LISTENERS_MAX 16         /* looked at in one bucket of the kernel's table */
#define JHASH_INITVAL 0xdeadbeef /* include/linux/jhash.h */

struct accept_queue {
  u64 asked_by; /* address of the client's struct sock */
  u32 length;   /* connections that wait for accept() */
  u32 limit;    /* one more connection than this makes the queue full */
  u64 is_known;
};

static __always_inline u32 rotated(u32 word, u32 by) {
  return word << by | word >> (32 - by);
}

/* jhash_1word() */
static __always_inline u32 hash_of_word(u32 word, u32 initial) {
  u32 c = initial + JHASH_INITVAL + 4, b = c, a = c + word;
  c = (c ^ b) - rotated(b, 14);
  a = (a ^ c) - rotated(c, 11);
  b = (b ^ a) - rotated(a, 25);
  c = (c ^ b) - rotated(b, 16);
  a = (a ^ c) - rotated(c, 4);
  b = (b ^ a) - rotated(a, 14);
  return (c ^ b) - rotated(b, 24);
}

/* Whether a connection to the address of `client` comes to `listener`. */
static __always_inline bool listens_for(const struct sock* listener, const struct sock* client,
                                        u32 address) {
  if (BPF_CORE_READ(listener, __sk_common.skc_state) != TCP_LISTEN) return false;
  if (BPF_CORE_READ(listener, __sk_common.skc_num) !=
      __builtin_bswap16(BPF_CORE_READ(client, __sk_common.skc_dport)))
    return false;
  if (BPF_CORE_READ(listener, __sk_common.skc_net.net) !=
      BPF_CORE_READ(client, __sk_common.skc_net.net))
    return false;
  return BPF_CORE_READ(listener, __sk_common.skc_rcv_saddr) == address;
}

/* Looks among the listeners that are bound to `address`; 0: to any. Of several with one port, the
 * one with most room counts. Not static: the verifier checks the function once. */
__noinline int look_for_listener(struct accept_queue* found, u32 address) {
  if (!found) return 0;
  const struct sock* client = (const struct sock*)found->asked_by;
  struct net* net = BPF_CORE_READ(client, __sk_common.skc_net.net);
  struct inet_hashinfo* table = BPF_CORE_READ(net, ipv4.tcp_death_row.hashinfo);
  u16 port = __builtin_bswap16(BPF_CORE_READ(client, __sk_common.skc_dport));
  u32 hash = hash_of_word(address, BPF_CORE_READ(net, hash_mix)) ^ port;
  struct inet_listen_hashbucket* buckets = BPF_CORE_READ(table, lhash2);
  void* bucket = (void*)buckets + (u64)(hash & BPF_CORE_READ(table, lhash2_mask)) *
                                      bpf_core_type_size(struct inet_listen_hashbucket);
  struct hlist_nulls_node* node =
      BPF_CORE_READ((struct inet_listen_hashbucket*)bucket, nulls_head.first);
  for (u32 i = 0; i < LISTENERS_MAX && !((u64)node & 1); i++) {
    struct sock* sock =
        (void*)node - bpf_core_field_offset(struct sock, __sk_common.skc_nulls_node);
    if (listens_for(sock, client, address)) {
      s64 length = BPF_CORE_READ(sock, sk_ack_backlog);
      s64 limit = BPF_CORE_READ(sock, sk_max_ack_backlog);
      if (!found->is_known || limit - length > (s64)found->limit - found->length) {
        found->length = length;
        found->limit = limit;
      }
      found->is_known = 1;
    }
    node = BPF_CORE_READ(node, next);
  }
  return 0;
}

/* The queue for connections like the one of `client`, if it goes to an address of this machine, and
 * the kernel's table is one that we know. */
static __always_inline struct accept_queue queue_asked_by(const struct sock* client) {
  struct accept_queue queue = {.asked_by = (u64)client};
  if (bpf_core_field_exists(struct inet_connection_sock, icsk_listen_portaddr_node) ||
      !bpf_core_field_exists(struct net, ipv4.tcp_death_row.hashinfo))
    return queue; /* before Linux 5.19 */
  u32 remote = BPF_CORE_READ(client, __sk_common.skc_daddr);
  u32 local = BPF_CORE_READ(client, __sk_common.skc_rcv_saddr);
  bool is_loopback = (remote & 0xff) == 127;
  if (!is_loopback && remote != local) return queue;
  look_for_listener(&queue, remote);
  look_for_listener(&queue, 0);
  return queue;
}
