/* SPDX-License-Identifier: GPL-2.0 */
/* Which side of a TCP connection a socket is. */
#pragma once

#include "bpf/kernel.h"

enum tcp_side { TCP_SIDE_UNKNOWN, TCP_CLIENT, TCP_SERVER };

/* The kernel chooses the port of a socket that asks for a connection. A connection that was
 * accepted shares the choice of its listener. */
static __always_inline enum tcp_side tcp_side_of(const struct sock* sock) {
  struct inet_bind_bucket* port =
      BPF_CORE_READ((const struct inet_connection_sock*)sock, icsk_bind_hash);
  if (!port) return TCP_SIDE_UNKNOWN;
  return BPF_CORE_READ(port, fastreuse) < 0 ? TCP_CLIENT : TCP_SERVER;
}
