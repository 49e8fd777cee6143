// SPDX-License-Identifier: GPL-2.0
// The object behind a descriptor that a late call was given. Written by probes/syscalls.
#pragma once

#include "bpf/wire.h"

#define CALL_OBJECT_PATH 256
#define CALL_OBJECT_PART 64       // bytes of a part of a path at most, its NUL included
#define CALL_OBJECT_IN_POLL 0x80  // in `argument`: the descriptor is the only one of a poll

enum object_kind {
  OBJECT_OTHER = 0,
  OBJECT_FILE = 1,      // also directories and devices
  OBJECT_PIPE = 2,      // also named ones
  OBJECT_SOCKET = 3,    // of the internet's families
  OBJECT_UNIX = 4,      // socket of this machine
  OBJECT_INTERNAL = 5,  // an eventfd, a timerfd, an epoll, …
};

enum object_flags {
  OBJECT_IS_CLIENT = 1,    // the kernel chose the local port, or the socket has no name of its own
  OBJECT_IS_SERVER = 2,    // a program chose the local port, or the socket's name
  OBJECT_IS_LISTENER = 4,  // connections are accepted from it
  OBJECT_HAS_WRITTEN = 8,  // written_ns and received_ns are known
  OBJECT_PATH_CUT = 16,    // the path has more parts
  OBJECT_DELETED = 32,     // the file has been unlinked
};

// Precedes the span_record of its call, which has the same thread and time.
struct call_object {
  struct event_header header;
  u64 inode;
  // TCP: time since data was sent last, and since data came last, in steps of the tick
  u64 written_ns;
  u64 received_ns;
  u64 resent_ns;  // from the first time that this data was sent to the last time
  u32 fd;
  u16 family;       // AF_…
  u16 socket_type;  // SOCK_…
  u16 local_port;
  u16 remote_port;
  u16 path_size;  // bytes of `path`
  u16 protocol;   // IPPROTO_…
  u8 object;      // enum object_kind
  u8 flags;       // enum object_flags
  u8 argument;    // index of the argument, and CALL_OBJECT_IN_POLL
  u8 resends;     // how often that data was sent again, for lack of an acknowledgement
  u8 reserved[4];
  u8 local[16];  // IPv4: the first four bytes
  u8 remote[16];
  // File: the parts of its path as its process sees them, innermost first, each NUL-terminated.
  // Unix socket: the name of its listener; a leading NUL: an abstract one.
  char path[CALL_OBJECT_PATH];
};
WIRE_SIZE(struct call_object, 48 + 32 + 4 + 12 + 8 + 32 + CALL_OBJECT_PATH);
