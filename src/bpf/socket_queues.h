// SPDX-License-Identifier: GPL-2.0
// What waits in the sockets of the target, and what the kernel dropped before any socket. Sampled
// in user space: the hooks of the network are not needed.
#pragma once

#include "bpf/wire.h"

#define SOCKET_TEXT_SIZE 112

// One socket of a process, when its queues had changed, and at the begin and the end.
struct socket_queue {
  struct event_header header;   // a process that has the socket open; time_ns: of the sample
  u64 inode;                    // of the socket
  u64 receive_bytes;            // received, and not read by the program
  u64 send_bytes;               // written, and not sent, or not acknowledged by the other side
  u64 drops;                    // packets without room, since the session began; UDP only
  char text[SOCKET_TEXT_SIZE];  // "udp 127.0.0.1:5000", "tcp [::1]:80 to [::1]:40000"
};
WIRE_SIZE(struct socket_queue, 192);

// All CPUs of the network namespace of the machine, since boot.
struct softnet_counts {
  struct event_header header;  // no thread; time_ns: of the sample
  u64 packets;                 // taken from network devices
  u64 dropped;                 // of these, for want of room in a CPU's queue (netdev_max_backlog)
  u64 squeezed;                // times that softirqs had to leave packets for later
};
WIRE_SIZE(struct softnet_counts, 72);
