/* SPDX-License-Identifier: GPL-2.0 */
/* The sender of a signal that stops a process of the target, and the tracer of a stopped thread. */
#pragma once

#include "bpf/signals.h"
#include "bpf/unpreempted.bpf.h"
#include "bpf/wait.bpf.h"

/* arch/x86/include/uapi/asm/signal.h: SIGSTOP, followed by SIGTSTP and SIGTTIN */
#define FIRST_STOP_SIGNAL 19
#define LAST_STOP_SIGNAL 22 /* SIGTTOU */
#define SENT 0              /* include/trace/events/signal.h: TRACE_SIGNAL_DELIVERED */
#define FROM_KERNEL 1       /* include/linux/sched/signal.h: SEND_SIG_PRIV */

/* Called as the thread leaves the CPU, neither runnable nor asleep. By the time it comes back, its
 * tracer may have detached. */
static __noinline int note_tracer(struct task_struct* task, struct thread_ledger* ledger) {
  if (!task || !ledger) return 0;
  ledger->displacer_tid = 0;
  if (!task->ptrace) return 0;
  struct task_struct* tracer = BPF_CORE_READ(task, parent);
  ledger->displacer_tid = BPF_CORE_READ(tracer, pid);
  BPF_CORE_READ_STR_INTO(&ledger->displacer, tracer, comm);
  return 0;
}

/* If the kernel itself sends a signal, `info` is a number, not a structure. The verifier lets an
 * address pass as a number only through memory. */
static __always_inline bool is_from_kernel(struct kernel_siginfo* info) {
  u64 number = 0;
  bpf_probe_read_kernel(&number, sizeof(number), &info);
  return number == FROM_KERNEL;
}

SEC("tp_btf/signal_generate")
int UNPREEMPTED_PROG(on_sent_signal, int signal, struct kernel_siginfo* info,
                     struct task_struct* task, int to_group, int result) {
  if (signal < FIRST_STOP_SIGNAL || signal > LAST_STOP_SIGNAL || result != SENT) return 0;
  if (!control.armed || !find_of_thread(threads, task)) return 0;
  void* ring = this_cpu_ring();
  struct stop_signal* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  fill_who(&record->header, bpf_get_current_task_btf(), 0, bpf_ktime_get_ns());
  record->header.kind = RECORD_STOP_SIGNAL;
  record->header.size = sizeof(*record);
  record->target_pid = task->tgid;
  record->signal = signal;
  record->is_from_kernel = is_from_kernel(info);
  record->reserved = 0;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}
