/* SPDX-License-Identifier: GPL-2.0 */
/* Totals of the target's threads: whose are kept, which threads displaced them, and the records
 * that user space gets at the end of each interval and of each thread. */
#pragma once

#include "bpf/call.bpf.h"
#include "bpf/syscalls.h"
#include "bpf/wait.bpf.h"
#include "probes/sched/cpus.bpf.h"
#include "probes/sched/throttles.bpf.h"

const volatile u8 keeps_totals;

#define TASK_DEAD 0x80 /* include/linux/sched.h */

/* enum wait_reason of each native system call. */
const volatile u8 call_reasons[SYSCALL_TABLE_SIZE];

/* The native system call of a program's thread that is asleep. The registers have the number of a
 * call that began before the session. */
static __always_inline u32 call_of_sleeper(struct task_struct* task, struct thread_ledger* ledger) {
  if (is_call_of(&ledger->call, task))
    return ledger->call.abi == ABI_NATIVE ? ledger->call.nr : SYSCALL_TABLE_SIZE;
  if (in_compat_syscall(task)) return SYSCALL_TABLE_SIZE;
  return ((struct pt_regs*)bpf_task_pt_regs(task))->orig_ax;
}

/* What `task` is blocked for, before it runs again: the scheduler's note of a wait for a disk is
 * still there, and the open call is in the ledger. */
static __always_inline u32 reason_of(struct task_struct* task, struct thread_ledger* ledger) {
  if (ledger->state == LEDGER_OTHER) return REASON_STOPPED;
  bool is_of_program = task->mm && !has_no_user_side(task);
  if (ledger->state == LEDGER_UNINTERRUPTIBLE) {
    if (!BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait)) return REASON_OTHER;
    return is_of_program && !is_call_of(&ledger->call, task) ? REASON_FAULT : REASON_DISK;
  }
  u32 nr = is_of_program ? call_of_sleeper(task, ledger) : SYSCALL_TABLE_SIZE;
  return nr < SYSCALL_TABLE_SIZE ? call_reasons[nr] : REASON_OTHER;
}

/* User space takes the entries of ended epochs out. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, DISPLACERS_MAX);
  __type(key, struct displacer_key);
  __type(value, struct offcpu_displacer);
} displacers SEC(".maps");

u32 threads_counted; /* threads whose totals have begun */
u32 displacers_used; /* entries of `displacers`; user space subtracts those that it has taken out */

/* Keeps the totals of `task` from now on if the thread belongs to the target. */
static __always_inline void keep_totals(struct task_struct* task, struct thread_ledger* ledger) {
  struct thread_totals* totals = &ledger->totals;
  u64 key = member_key(task);
  if (!keeps_totals || totals->member == key) return;
  totals->member = 0;
  if (!control.armed || !find_of_thread(threads, task)) return;
  if (!totals->since_ns) {
    __builtin_memset(totals, 0, sizeof(*totals));
    totals->since_ns = measured_from(ledger->since_ns);
    totals->number = __sync_fetch_and_add(&threads_counted, 1) + 1;
  }
  totals->member = key;
}

static __always_inline void begin_displacer(const struct displacer_key* key,
                                            struct task_struct* task,
                                            const struct thread_ledger* ledger) {
  struct offcpu_displacer initial = {.number = key->number, .displacer_tid = key->tid};
  fill_who(&initial.header, task, 0, 0);
  initial.header.kind = RECORD_OFFCPU_DISPLACER;
  initial.header.size = sizeof(initial);
  if (key->tid)
    __builtin_memcpy(initial.displacer, ledger->displacer, COMM_SIZE);
  else
    __builtin_memcpy(initial.displacer, "(migrated)", sizeof("(migrated)"));
  if (bpf_map_update_elem(&displacers, key, &initial, BPF_NOEXIST) == 0)
    __sync_fetch_and_add(&displacers_used, 1);
}

/* The preempted wait of `task` ends. A thread that comes back on another CPU waited there for other
 * threads than the one that displaced it, often the kernel's own thread that moved it. */
static __noinline int count_displacer(struct task_struct* task, struct thread_ledger* ledger,
                                      u64 now_ns) {
  if (!task || !ledger || !cpu_wanted()) return 0;
  u64 wait_ns = ns_between(measured_from(ledger->since_ns), measured_until(now_ns));
  bool has_moved = ledger->cpu != task->thread_info.cpu;
  struct displacer_key key = {.number = ledger->totals.number,
                              .tid = has_moved ? 0 : ledger->displacer_tid,
                              .epoch = control.totals_epoch};
  struct offcpu_displacer* displacer = bpf_map_lookup_elem(&displacers, &key);
  if (!displacer) {
    begin_displacer(&key, task, ledger);
    displacer = bpf_map_lookup_elem(&displacers, &key);
  }
  if (!displacer) {
    count(COUNTER_CELLS_FULL, 1);
    return 0;
  }
  displacer->count++;
  displacer->total_ns += wait_ns;
  if (displacer->max_ns < wait_ns) displacer->max_ns = wait_ns;
  return 0;
}

/* Adds the present wait or run of the thread, which goes on. */
static __always_inline void add_present(struct offcpu_thread* to, struct task_struct* task,
                                        struct thread_ledger* ledger, u64 now_ns) {
  u64 since_ns = ledger->since_ns;
  if (ledger->state == LEDGER_ON_CPU) {
    to->sums.oncpu_ns += ns_between(measured_from(since_ns), measured_until(now_ns));
    return;
  }
  u64 runnable_ns = runnable_since(ledger, now_ns);
  u64 ready_ns = ns_between(runnable_ns, now_ns);
  u64 throttled_ns = throttled_in_wait(task, ledger, now_ns);
  struct wait_parts wait = {.blocked_ns = ns_between(since_ns, runnable_ns),
                            .throttled_ns = throttled_ns < ready_ns ? throttled_ns : ready_ns};
  wait.ready_ns = ready_ns - wait.throttled_ns;
  leave_measured(&wait, since_ns, now_ns);
  to->open_ns = wait.blocked_ns + wait.throttled_ns + wait.ready_ns;
  to->open_state = wait.throttled_ns                                           ? WAIT_THROTTLED
                   : ledger->state == LEDGER_PREEMPTED && ledger->is_left_idle ? WAIT_UNKNOWN
                                                                               : ledger->state;
  add_parts(&to->sums, &wait, ledger->state, ledger->is_left_idle);
  u32 reason = reason_of(task, ledger);
  if (reason == REASON_LOCK)
    to->lock_ns += wait.blocked_ns;
  else if (reason < FIRST_REASONS)
    to->reason_ns[reason] += wait.blocked_ns;
}

/* The longest wait that ended in `epoch`, the present one or the one before; 0: it has a record. */
static __always_inline u64 longest_in(const struct thread_totals* totals, u32 epoch) {
  if (epoch < totals->unreported_epoch) return 0;
  if (totals->epoch == epoch) return totals->longest_ns;
  return totals->earlier_epoch == epoch ? totals->earlier_ns : 0;
}

static __always_inline void fill_totals(struct offcpu_thread* to, struct task_struct* task,
                                        const struct thread_state* state,
                                        const struct thread_totals* totals, u64 now_ns) {
  fill_who(&to->header, task, state ? state->cgroup_id : 0, now_ns);
  fill_origin(&to->origin, task, state);
  to->header.kind = RECORD_OFFCPU_THREAD;
  to->header.size = sizeof(*to);
  to->since_ns = totals->since_ns;
  to->sums = totals->sums;
  __builtin_memcpy(to->reason_ns, totals->reason_ns, sizeof(to->reason_ns));
  to->lock_ns = totals->reason_ns[REASON_LOCK];
  to->waits = totals->waits;
  to->preemptions = totals->preemptions;
  to->number = totals->number;
}

/* The last record of a thread that leaves its CPU for ever. */
static __noinline int record_ended_thread(struct task_struct* task, struct thread_ledger* ledger,
                                          u64 now_ns) {
  if (!task || !ledger) return 0;
  void* ring = this_cpu_ring();
  struct offcpu_thread* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  __builtin_memset(record, 0, sizeof(*record));
  fill_totals(record, task, find_of_thread(threads, task), &ledger->totals, now_ns);
  u64 longest_ns = longest_in(&ledger->totals, control.totals_epoch);
  u64 earlier_ns = longest_in(&ledger->totals, control.totals_epoch - 1);
  record->longest_ns = longest_ns > earlier_ns ? longest_ns : earlier_ns;
  record->flags = OFFCPU_ENDED;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  ledger->totals.member = ledger->totals.since_ns = 0;
  return 0;
}

const volatile u8 keeps_idle; /* the idle thread of each CPU has totals too */

/* Ledgers of idle threads, which have no other. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct thread_ledger);
} idle_ledgers SEC(".maps");

/* The idle thread counts as displaced while other threads have its CPU. */
static __noinline int count_idle(struct task_struct* next, u64 now_ns) {
  u32 zero = 0;
  struct thread_ledger* ledger = bpf_map_lookup_elem(&idle_ledgers, &zero);
  if (!next || !ledger) return 0;
  if (next->pid) {
    count_run(ledger, now_ns);
    ledger->state = LEDGER_PREEMPTED;
  } else {
    /* If the idle thread has not been seen to leave, it was away since the begin of the session. */
    if (ledger->state == LEDGER_ON_CPU) ledger->since_ns = 0;
    ledger->state = LEDGER_PREEMPTED;
    struct wait_parts wait = {.ready_ns = now_ns - ledger->since_ns};
    count_wait(ledger, &wait, now_ns);
    ledger->state = LEDGER_ON_CPU;
  }
  ledger->since_ns = now_ns;
  return 0;
}

/* User space runs this at the end of an epoch, when no program writes to that epoch any more. A
 * thread that has not run since the begin of the session has no totals yet. */
SEC("iter/task")
int report_threads(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct thread_ledger* ledger = task && task->pid ? ledger_of(task) : 0;
  if (!ledger) return 0;
  const struct thread_state* state = find_of_thread(threads, task);
  bool is_member = state != 0;
  const struct thread_totals* totals = &ledger->totals;
  if (!totals->since_ns && (!is_member || totals->number)) return 0;
  struct offcpu_thread record = {};
  u64 now_ns = bpf_ktime_get_ns();
  fill_totals(&record, task, state, totals, measured_until(now_ns));
  if (!record.since_ns) record.since_ns = measured_from(ledger->since_ns);
  record.longest_ns = longest_in(totals, control.totals_epoch - 1);
  if (is_member)
    add_present(&record, task, ledger, now_ns);
  else
    record.flags = OFFCPU_ENDED;
  if (keeps_cpus && is_member) add_present_of_cpu(ledger, &record.sums, record.open_ns);
  if (bpf_seq_write(ctx->meta->seq, &record, sizeof(record))) return 0;
  ledger->totals.unreported_epoch = control.totals_epoch;
  if (!is_member) ledger->totals.since_ns = 0;
  return 0;
}
