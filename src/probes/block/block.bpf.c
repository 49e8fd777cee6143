// SPDX-License-Identifier: GPL-2.0
// Requests to block devices: from their issue to the device, and from their insertion into its
// queue, to completion.
#include "bpf/compat.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/unpreempted.bpf.h"

#define REQUESTS_MAX 16384

/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_OP_FLUSH 2

struct open_request {
  struct named_span span; /* since insertion, or since issue without insertion; detail: bytes */
  u64 issued_ns;          /* 0: not issued yet */
  u64 requeued;           /* 1: given back by the device; its next insertion is no new request */
};

/* By struct request*. A device has a fixed set of request structs and reuses them. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, REQUESTS_MAX);
  __type(key, u64);
  __type(value, struct open_request);
} requests SEC(".maps");

static __always_inline bool any_wanted(void) {
  u64 issued_ns = threshold_of(SPAN_BLOCK);
  return threshold_of(SPAN_BLOCK_QUEUED) || issued_ns;
}

/* Low half: the device, as the kernel's dev_t (major << 20 | minor). High half: the sector, where
 * it fits. */
static __always_inline u64 place_of(struct request* request, struct gendisk* disk) {
  u64 sector = request->__sector;
  u64 device = (u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
  return (sector < 0xffffffff ? sector : 0xffffffff) << 32 | device;
}

static __always_inline u64 flags_of(struct request* request) {
  u32 operation = request->cmd_flags & REQ_OP_MASK;
  if (operation & 1) return SPAN_WRITE;
  return operation == REQ_OP_FLUSH ? SPAN_FLUSH : 0;
}

/* `stale`: entry of the previous request in this struct, whose end was not reported: a hardened
 * kernel may hide what interrupts some threads. */
static __always_inline void open_request(struct request* request, bool issued,
                                         const struct open_request* stale) {
  if (stale) count(COUNTER_UNMATCHED, 1);
  struct gendisk* disk = disk_of(request);
  struct open_request entry = {.span = {.flags = flags_of(request)}};
  struct open_span* by = &entry.span.by;
  by->subject = place_of(request, disk);
  by->detail = request->__data_len;
  BPF_CORE_READ_STR_INTO(&entry.span.text, disk, disk_name);
  u64 key = (u64)request;
  begin_span(by);
  if (issued) entry.issued_ns = by->begin_ns;
  if (bpf_map_update_elem(&requests, &key, &entry, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
}

SEC("?tp_btf/block_rq_insert")
int UNPREEMPTED_PROG(on_insert, struct request* request) {
  if (!any_wanted()) return 0;
  u64 key = (u64)request;
  struct open_request* known = bpf_map_lookup_elem(&requests, &key);
  if (known && known->requeued) return 0;
  if (counts_here())
    open_request(request, false, known);
  else if (known)
    bpf_map_delete_elem(&requests, &key); /* left by an earlier request in this struct */
  return 0;
}

/* Often in the context of a worker, or of a thread that brought another request. */
SEC("?tp_btf/block_rq_issue")
int UNPREEMPTED_PROG(on_issue, struct request* request) {
  if (!any_wanted()) return 0;
  u64 key = (u64)request;
  struct open_request* known = bpf_map_lookup_elem(&requests, &key);
  if (known && (!known->issued_ns || known->requeued)) {
    known->issued_ns = bpf_ktime_get_ns();
    known->span.by.subject = place_of(request, disk_of(request)); /* merges have made it larger */
    known->span.by.detail = request->__data_len;
    known->requeued = 0;
  } else if (counts_here()) {
    open_request(request, true, known);
  } else if (known) {
    bpf_map_delete_elem(&requests, &key);
  }
  return 0;
}

SEC("?tp_btf/block_rq_requeue")
int UNPREEMPTED_PROG(on_requeue, struct request* request) {
  if (!any_wanted()) return 0;
  u64 key = (u64)request;
  struct open_request* known = bpf_map_lookup_elem(&requests, &key);
  if (known) known->requeued = 1;
  return 0;
}

/* `request` has become part of another and never completes itself. */
SEC("?tp_btf/block_rq_merge")
int UNPREEMPTED_PROG(on_merge, struct request* request) {
  if (!any_wanted()) return 0;
  u64 key = (u64)request;
  bpf_map_delete_elem(&requests, &key);
  return 0;
}

static __always_inline void end_request(struct ended_span* span, u32 kind, u64 begin_ns) {
  u64 threshold_ns = threshold_of(kind);
  if (!threshold_ns || begin_ns < control.since_ns[kind]) return;
  span->kind = kind;
  span->latency_ns = ns_between(begin_ns, span->now_ns);
  count_span(kind, span->latency_ns);
  if (span->latency_ns >= threshold_ns) emit_span(span);
}

/* An end without a known begin. Steps of a flush end more than once, without bytes. */
static __always_inline void end_unknown(struct request* request, unsigned int bytes) {
  if (!whole_machine || !bytes || !cpu_wanted()) return;
  u64 since_ns = control.since_ns[SPAN_BLOCK] > control.since_ns[SPAN_BLOCK_QUEUED]
                     ? control.since_ns[SPAN_BLOCK]
                     : control.since_ns[SPAN_BLOCK_QUEUED];
  count(request->start_time_ns > since_ns ? COUNTER_UNMATCHED : COUNTER_CUT, 1);
}

SEC("?tp_btf/block_rq_complete")
int UNPREEMPTED_PROG(on_complete, struct request* request, int error, unsigned int bytes) {
  if (!any_wanted()) return 0;
  u64 key = (u64)request;
  struct open_request* known = bpf_map_lookup_elem(&requests, &key);
  if (!known) {
    end_unknown(request, bytes);
    return 0;
  }
  if (bytes < request->__data_len) return 0; /* a part of the request; the rest goes on */
  struct ended_span span = {.flags = known->span.flags | (error ? SPAN_FAILED : 0)};
  u64 issued_ns = known->issued_ns;
  end_span(&span, &known->span.by);
  __builtin_memcpy(span.text, known->span.text, SPAN_TEXT_SIZE);
  bpf_map_delete_elem(&requests, &key);
  end_request(&span, SPAN_BLOCK_QUEUED, span.now_ns - span.latency_ns);
  end_request(&span, SPAN_BLOCK, issued_ns);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
