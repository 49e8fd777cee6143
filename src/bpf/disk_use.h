// SPDX-License-Identifier: GPL-2.0
// What each process asked of each disk. Written by probes/disks.
#pragma once

#include "bpf/wire.h"

#define DISK_NAME_SIZE 32

// The requests of the header's process (its thread id is 0) to one disk that were completed in the
// session. One record per process and disk, at the end.
struct disk_use {
  struct event_header header;
  u64 requests;
  u64 data_bytes;             // read and written
  u64 device_ns;              // from issue to completion, of all requests
  char disk[DISK_NAME_SIZE];  // NUL-padded
};
WIRE_SIZE(struct disk_use, 104);
