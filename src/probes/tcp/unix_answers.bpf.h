/* SPDX-License-Identifier: GPL-2.0 */
/* Answers over stream sockets of the unix domain: from the last data that a client has sent to the
 * first data that its server sent then. Hooks see all sockets of the machine: the server may be no
 * part of the target. */
#pragma once

#include "bpf/span.bpf.h"
#include "probes/tcp/answers.bpf.h"

/* include/linux/net.h, include/linux/socket.h */
#define SOCK_STREAM 1
#define AF_UNIX 1
#define MSG_PEEK 2

/* What a client has asked. */
struct unix_question {
  u64 inode; /* of the client's socket */
  u64 asked_ns;
  u64 answered_ns; /* 0: not yet */
  u32 pid;         /* the thread that has answered */
  u32 tid;
  char comm[COMM_SIZE];
};

/* By the client's struct sock*. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, QUESTIONS_MAX);
  __type(key, u64);
  __type(value, struct unix_question);
} unix_questions SEC(".maps");

u8 unix_asked; /* 1: a client of the target has asked, so the table is worth a look */

static __always_inline bool is_unix_stream(const struct sock* sock) {
  return sock->__sk_common.skc_family == AF_UNIX && sock->sk_type == SOCK_STREAM;
}

static __always_inline struct unix_address* name_of(const struct sock* sock) {
  return BPF_CORE_READ((const struct unix_sock*)sock, addr);
}

static __always_inline struct sock* peer_of(const struct sock* sock) {
  return BPF_CORE_READ((const struct unix_sock*)sock, peer);
}

/* The question of this very socket; null: none. */
static __always_inline struct unix_question* question_of(const struct sock* sock) {
  u64 key = (u64)sock;
  struct unix_question* question = bpf_map_lookup_elem(&unix_questions, &key);
  return question && question->inode == inode_of_socket(sock) ? question : 0;
}

/* The running thread sends data to the client at the other end. */
static __always_inline void note_answer(const struct sock* client) {
  struct unix_question* question = client ? question_of(client) : 0;
  if (!question || question->answered_ns) return;
  question->answered_ns = bpf_ktime_get_ns();
  u64 ids = bpf_get_current_pid_tgid();
  question->pid = ids >> 32;
  question->tid = ids;
  bpf_get_current_comm(question->comm, sizeof(question->comm));
}

/* The running thread sends data to the server at the other end. */
static __always_inline void note_question(const struct sock* sock) {
  u64 key = (u64)sock;
  struct unix_question question = {.inode = inode_of_socket(sock), .asked_ns = bpf_ktime_get_ns()};
  if (!question.inode) return;
  bpf_map_update_elem(&unix_questions, &key, &question, BPF_ANY);
  unix_asked = 1;
}

/* The first bytes of the listener's name: for the layout see probes/tcp/kinds.h. */
static __always_inline void put_name(struct ended_span* span, const struct unix_address* name) {
  char bytes[sizeof(span->subject) + sizeof(span->detail) + SPAN_TEXT_SIZE] = {};
  u64 size = BPF_CORE_READ(name, len) - sizeof(((struct sockaddr_un*)0)->sun_family);
  if (size > sizeof(bytes)) size = sizeof(bytes);
  bpf_probe_read_kernel(bytes, size, name->name[0].sun_path);
  if (!bytes[0]) bytes[0] = '@';
  __builtin_memcpy(&span->subject, bytes, sizeof(span->subject));
  __builtin_memcpy(&span->detail, bytes + sizeof(span->subject), sizeof(span->detail));
  __builtin_memcpy(span->text, bytes + sizeof(span->subject) + sizeof(span->detail),
                   sizeof(span->text));
}

/* With the thread that has answered as the one that ended the span. */
static __noinline int emit_unix_answer(const struct ended_span* span,
                                       const struct unix_question* question) {
  void* ring = this_cpu_ring();
  struct span_record* record =
      ring && span && question ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  fill_span(record, span);
  record->header.pid = question->pid;
  record->header.tid = question->tid;
  __builtin_memcpy(record->header.comm, question->comm, sizeof(record->header.comm));
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

/* The running thread takes data of the server `name`. The first data after a question is the
 * answer. */
static __always_inline void end_unix_question(const struct sock* sock,
                                              const struct unix_address* name, u64 threshold_ns) {
  struct unix_question* found = question_of(sock);
  if (!found || !found->answered_ns) return;
  struct unix_question question = *found;
  u64 key = (u64)sock;
  bpf_map_delete_elem(&unix_questions, &key);
  if (question.asked_ns < control.since_ns[SPAN_UNIX_ANSWER]) {
    count(COUNTER_CUT, 1);
    return;
  }
  struct ended_span span = {.kind = SPAN_UNIX_ANSWER, .now_ns = bpf_ktime_get_ns()};
  span.latency_ns = ns_between(question.asked_ns, question.answered_ns);
  count(COUNTER_SPANS, 1);
  if (span.latency_ns < threshold_ns) return;
  u64 ids = bpf_get_current_pid_tgid();
  span.begin_pid = ids >> 32;
  span.begin_tid = ids;
  put_name(&span, name);
  if (has_waiting_client(question.asked_ns)) span.flags = SPAN_FOR_CLIENT;
  emit_unix_answer(&span, &question);
}

static __always_inline void on_unix_sent(const struct sock* sock) {
  if (!is_unix_stream(sock)) return;
  bool is_ours = counts_here();
  if (!is_ours && !unix_asked) return;
  if (name_of(sock)) {
    if (unix_asked) note_answer(peer_of(sock));
    if (is_ours) forget_request(sock);
    return;
  }
  struct sock* peer = is_ours ? peer_of(sock) : 0;
  if (peer && name_of(peer)) note_question(sock);
}

static __always_inline void on_unix_received(const struct sock* sock, u64 threshold_ns) {
  if (!is_unix_stream(sock) || !counts_here()) return;
  if (name_of(sock)) {
    note_request(sock, inode_of_socket(sock));
    return;
  }
  struct sock* peer = peer_of(sock);
  struct unix_address* name = peer ? name_of(peer) : 0;
  if (name) end_unix_question(sock, name, threshold_ns);
}
