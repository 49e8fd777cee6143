/* SPDX-License-Identifier: GPL-2.0 */
/* What TCP sends again, because the peer's kernel has not acknowledged it in time. */
#pragma once

#include "bpf/session.bpf.h"

#define RESENDS_MAX 1024 /* sockets */

struct resends {
  u64 sent_ns; /* when what is on its way now was sent first */
  u64 last_ns; /* when it was sent again last */
  u64 count;
};

/* By struct sock*. A later socket at the same address is known by its data, sent after `last_ns`.
 */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, RESENDS_MAX);
  __type(key, u64);
  __type(value, struct resends);
} resends SEC(".maps");

/* The kernel has sent data of `sock` again. Its own note of the first time is in microseconds. */
static __always_inline void note_resend(const struct sock* sock) {
  u64 key = (u64)sock, now_ns = bpf_ktime_get_ns();
  u64 sent_ns = BPF_CORE_READ((const struct tcp_sock*)sock, first_tx_mstamp) * 1000;
  if (!sent_ns || sent_ns > now_ns) return;
  struct resends* known = bpf_map_lookup_elem(&resends, &key);
  if (known && known->sent_ns == sent_ns) {
    known->last_ns = now_ns;
    known->count++;
    return;
  }
  struct resends first = {.sent_ns = sent_ns, .last_ns = now_ns, .count = 1};
  bpf_map_update_elem(&resends, &key, &first, BPF_ANY);
}

/* The resends of the data that `sock` sent last, at `sent_ns` or up to a tick later, if that was
 * not the first time; else null. */
static __always_inline const struct resends* resends_of(const struct sock* sock, u64 sent_ns,
                                                        u64 tick_ns) {
  u64 key = (u64)sock;
  const struct resends* known = bpf_map_lookup_elem(&resends, &key);
  return known && sent_ns <= known->last_ns + tick_ns ? known : 0;
}
