// SPDX-License-Identifier: GPL-2.0
// What each process of the machine asks of each disk: requests, bytes, time in the device.
#include "bpf/compat.bpf.h"
#include "bpf/disk_use.h"
#include "bpf/target.bpf.h"
#include "bpf/unpreempted.bpf.h"

#define REQUESTS_MAX 16384
#define USERS_MAX 4096

/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1

struct disk_user {
  u32 pid;
  u32 reserved;
  char comm[COMM_SIZE]; /* of the thread that leads the process */
  char disk[DISK_NAME_SIZE];
};

struct disk_sums {
  u64 requests;
  u64 bytes;
  u64 device_ns;
};

struct disk_request {
  struct disk_user by;
  u64 issued_ns; /* 0: not issued yet */
  u64 bytes;     /* of the parts that have been completed */
  u64 requeued;  /* 1: given back by the device; its next insertion is no new request */
};

/* By struct request*. A device has a fixed set of request structs and reuses them. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, REQUESTS_MAX);
  __type(key, u64);
  __type(value, struct disk_request);
} disk_requests SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, USERS_MAX);
  __type(key, struct disk_user);
  __type(value, struct disk_sums);
} disk_users SEC(".maps");

/* The running thread brings the request. (A scheduler of requests issues it later, often in a
 * worker.) */
static __always_inline void note_request(struct request* request, u64 issued_ns) {
  struct disk_request entry = {.issued_ns = issued_ns};
  struct task_struct* task = bpf_get_current_task_btf();
  u64 key = (u64)request;
  entry.by.pid = task->tgid;
  BPF_CORE_READ_STR_INTO(&entry.by.comm, task, group_leader, comm);
  BPF_CORE_READ_STR_INTO(&entry.by.disk, disk_of(request), disk_name);
  if (bpf_map_update_elem(&disk_requests, &key, &entry, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
}

SEC("tp_btf/block_rq_insert")
int UNPREEMPTED_PROG(on_insert, struct request* request) {
  u64 key = (u64)request;
  if (!control.armed) return 0;
  const struct disk_request* known = bpf_map_lookup_elem(&disk_requests, &key);
  if (!known || !known->requeued) note_request(request, 0);
  return 0;
}

SEC("tp_btf/block_rq_issue")
int UNPREEMPTED_PROG(on_issue, struct request* request) {
  u64 key = (u64)request;
  if (!control.armed) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  struct disk_request* known = bpf_map_lookup_elem(&disk_requests, &key);
  if (known && (!known->issued_ns || known->requeued)) {
    known->issued_ns = now_ns;
    known->requeued = 0;
  } else {
    note_request(request, now_ns); /* an entry that is there belongs to an unreported completion */
  }
  return 0;
}

SEC("tp_btf/block_rq_requeue")
int UNPREEMPTED_PROG(on_requeue, struct request* request) {
  u64 key = (u64)request;
  struct disk_request* known = bpf_map_lookup_elem(&disk_requests, &key);
  if (known) known->requeued = 1;
  return 0;
}

/* `request` has become part of another and never completes itself. */
SEC("tp_btf/block_rq_merge")
int UNPREEMPTED_PROG(on_merge, struct request* request) {
  u64 key = (u64)request;
  bpf_map_delete_elem(&disk_requests, &key);
  return 0;
}

static __always_inline void add_use(const struct disk_request* request) {
  static const struct disk_sums none;
  struct disk_sums* sums = bpf_map_lookup_elem(&disk_users, &request->by);
  if (!sums) {
    bpf_map_update_elem(&disk_users, &request->by, &none, BPF_NOEXIST);
    sums = bpf_map_lookup_elem(&disk_users, &request->by);
  }
  if (!sums) {
    count(COUNTER_SPANS_FULL, 1);
    return;
  }
  __sync_fetch_and_add(&sums->requests, 1);
  __sync_fetch_and_add(&sums->bytes, request->bytes);
  __sync_fetch_and_add(&sums->device_ns, ns_between(request->issued_ns, bpf_ktime_get_ns()));
}

SEC("tp_btf/block_rq_complete")
int UNPREEMPTED_PROG(on_complete, struct request* request, int error, unsigned int bytes) {
  u64 key = (u64)request;
  struct disk_request* known = bpf_map_lookup_elem(&disk_requests, &key);
  if (!known) return 0;
  /* Reads and writes: a discard moves no data. */
  if ((request->cmd_flags & REQ_OP_MASK) <= REQ_OP_WRITE) known->bytes += bytes;
  if (bytes < request->__data_len) return 0; /* a part of the request; the rest goes on */
  if (control.armed && known->issued_ns) add_use(known);
  bpf_map_delete_elem(&disk_requests, &key);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
