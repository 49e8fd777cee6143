/* SPDX-License-Identifier: GPL-2.0 */
/* Totals of the target's threads: whose are kept, which threads displaced them, and the records
 * that user space gets at the end of each interval and of each thread. */
#pragma once

#include "bpf/call.bpf.h"
#include "bpf/glob.bpf.h"
#include "bpf/syscalls.h"
#include "bpf/wait.bpf.h"
#include "probes/sched/cpus.bpf.h"
#include "probes/sched/runs.bpf.h"
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
  bool is_of_program = !is_exiting(task) && !has_no_user_side(task);
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
  /* What ends after the session may have begun within it. */
  if (!control.armed && ledger->since_ns >= control.disarmed_ns) return;
  if (!find_of_thread(threads, task)) return;
  if (!totals->since_ns) {
    __builtin_memset(totals, 0, sizeof(*totals));
    totals->since_ns = measured_from(ledger->since_ns);
    totals->number = __sync_fetch_and_add(&threads_counted, 1) + 1;
  }
  totals->member = key;
}

#define RUN_UNKNOWN ~0u /* the tid of a run in which a switch was hidden */

/* The name of the thread that had the CPU; `comm` is that of a thread which is known. */
static __always_inline const char* displacer_name(const struct displacer_key* key,
                                                  const struct thread_name* comm) {
  static const char unknown[COMM_SIZE] = "(unknown)", idle[COMM_SIZE] = "(idle)";
  static const char migrated[COMM_SIZE] = "(migrated)";
  if (key->tid == RUN_UNKNOWN) return unknown;
  if (key->how == WAITED_BEHIND && !key->tid) return idle;
  return comm ? comm->text : migrated;
}

static __always_inline void begin_displacer(const struct displacer_key* key, u64 of,
                                            const struct thread_name* comm) {
  struct offcpu_displacer initial = {.number = key->number,
                                     .displacer_tid = key->tid == RUN_UNKNOWN ? 0 : key->tid,
                                     .how = key->how};
  fill_front(&initial.header, of, RECORD_OFFCPU_DISPLACER, sizeof(initial), 0);
  __builtin_memcpy(initial.displacer, displacer_name(key, comm), COMM_SIZE);
  if (bpf_map_update_elem(&displacers, key, &initial, BPF_NOEXIST) == 0)
    __sync_fetch_and_add(&displacers_used, 1);
}

/* `of`: the address of the thread that waited. `comm`: the name of the thread that had the CPU;
 * null: it is not known, or there is none. `weight`: for how many waits this one stands. Not
 * static: the verifier checks this once, not on each path that comes here. */
__noinline int add_displacer(const struct displacer_key* pair, const u64* of,
                             const struct thread_name* comm, u64 wait_ns, u32 weight) {
  if (!pair || !of) return 0;
  struct displacer_key key = *pair; /* on the stack: Linux 6.1 takes no other memory for a key */
  key.epoch = control.totals_epoch;
  struct offcpu_displacer* displacer = bpf_map_lookup_elem(&displacers, &key);
  if (!displacer) {
    begin_displacer(&key, *of, comm);
    displacer = bpf_map_lookup_elem(&displacers, &key);
  }
  if (!displacer) {
    count(COUNTER_CELLS_FULL, 1);
    return 0;
  }
  displacer->count += weight;
  displacer->total_ns += weight * wait_ns;
  if (displacer->max_ns < wait_ns) displacer->max_ns = wait_ns;
  return 0;
}

/* The preempted wait of `task` ends. A thread that comes back on another CPU waited there for other
 * threads than the one that displaced it, often the kernel's own thread that moved it. */
static __noinline int count_displacer(struct task_struct* task, struct thread_ledger* ledger,
                                      u64 now_ns) {
  if (!task || !ledger || !cpu_wanted()) return 0;
  bool has_moved = ledger->cpu != task->thread_info.cpu;
  struct displacer_key key = {.number = ledger->totals.number,
                              .tid = has_moved ? 0 : ledger->displacer_tid,
                              .how = DISPLACED};
  u64 of = (u64)task;
  add_displacer(&key, &of, has_moved ? 0 : (const struct thread_name*)ledger->displacer,
                ns_between(measured_from(ledger->since_ns), measured_until(now_ns)), 1);
  return 0;
}

const volatile u8 keeps_behind; /* also the threads that had the CPU while woken ones waited */

#define RUNS_KEPT 16 /* a power of two */
/* Of so many waits that have their runs looked up, a CPU looks at half as many in future. */
const volatile u32 looks_at_once = 1;
#define LOOKS_WINDOW_NS 125000000ull /* after which a CPU with few looks looks more often */
#define LOOKS_EVERY_MAX (1 << 20)

struct recent_run {
  u64 since_ns;
  u32 tid; /* 0: the CPU idles */
  char comm[COMM_SIZE];
};

/* The last runs of a CPU. The present one is runs[begun % RUNS_KEPT]. */
struct recent_runs {
  u64 begun;
  u64 window_ns; /* when `looks` was last 0 */
  u32 waits;
  u32 looks;
  u32 every; /* one of so many waits is looked at; a power of two */
  u32 reserved;
  struct recent_run runs[RUNS_KEPT];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct recent_runs);
} recent_runs SEC(".maps");

static __noinline int note_recent_run(const struct task_struct* prev,
                                      const struct task_struct* next, u64 now_ns) {
  u32 zero = 0;
  struct recent_runs* recent = bpf_map_lookup_elem(&recent_runs, &zero);
  if (!recent || !prev || !next) return 0;
  struct recent_run* run = &recent->runs[recent->begun & (RUNS_KEPT - 1)];
  if (run->tid != (u32)prev->pid) run->tid = RUN_UNKNOWN;
  run = &recent->runs[++recent->begun & (RUNS_KEPT - 1)];
  run->since_ns = now_ns;
  run->tid = next->pid;
  __builtin_memcpy(run->comm, next->comm, COMM_SIZE);
  return 0;
}

/* `run`: null if it is not known. */
static __always_inline void add_behind(const u64* of, u32 number, const struct recent_run* run,
                                       u64 ns, u32 weight) {
  struct displacer_key key = {
      .number = number, .tid = run ? run->tid : RUN_UNKNOWN, .how = WAITED_BEHIND};
  add_displacer(&key, of, run ? (const struct thread_name*)run->comm : 0, ns, weight);
}

/* For how many waits the one that ends now stands; 0: it is not looked at. The number of looks is
 * bounded however many waits there are, and so is the number of pairs of threads. */
static __always_inline u32 weight_of_look(struct recent_runs* recent, u64 now_ns) {
  if (!recent->every) recent->every = 1;
  if (now_ns - recent->window_ns > LOOKS_WINDOW_NS) {
    if (recent->looks < looks_at_once / 4 && recent->every > 1) recent->every /= 2;
    recent->window_ns = now_ns;
    recent->looks = 0;
  }
  if (recent->waits++ & (recent->every - 1)) return 0;
  u32 weight = recent->every;
  if (++recent->looks > looks_at_once && recent->every < LOOKS_EVERY_MAX) {
    recent->every *= 2;
    recent->looks /= 2;
  }
  return weight;
}

/* Adds what ran on this CPU from `since_ns` to `until_ns`, while the thread at `*of` waited for it.
 * Not static: see add_displacer(). */
__noinline int add_runs_behind(const u64* of, u32 number, u64 since_ns, u64 until_ns, u32 weight) {
  u32 zero = 0;
  struct recent_runs* recent = bpf_map_lookup_elem(&recent_runs, &zero);
  if (!of || !recent) return 0;
  for (u32 i = 0; i < RUNS_KEPT && until_ns > since_ns; i++) {
    const struct recent_run* run = &recent->runs[(recent->begun - i) & (RUNS_KEPT - 1)];
    u64 from_ns = run->since_ns;
    if (!from_ns) break;
    if (from_ns >= until_ns) continue;
    if (from_ns < since_ns) from_ns = since_ns;
    add_behind(of, number, run, until_ns - from_ns, weight);
    until_ns = from_ns;
  }
  if (until_ns > since_ns) add_behind(of, number, 0, until_ns - since_ns, weight);
  return 0;
}

/* `task`, which has waited in a run queue since its wake-up, comes to this CPU. */
static __noinline int count_behind(struct task_struct* task, struct thread_ledger* ledger,
                                   struct cpu_ledger* cpu, u64 now_ns) {
  u32 zero = 0;
  struct recent_runs* recent = bpf_map_lookup_elem(&recent_runs, &zero);
  if (!task || !ledger || !cpu || !recent || ledger->state == LEDGER_PREEMPTED) return 0;
  u32 weight = cpu_wanted() ? weight_of_look(recent, now_ns) : 0;
  if (!weight) return 0;
  u64 of = (u64)task;
  u64 since_ns = measured_from(queued_here_since(task, ledger, cpu, now_ns));
  add_runs_behind(&of, ledger->totals.number, since_ns, measured_until(now_ns), weight);
  return 0;
}

/* Adds the present wait of a thread, which goes on. Not static: see add_displacer(). */
__noinline int add_present_wait(struct offcpu_thread* to, const struct thread_ledger* ledger,
                                u64 throttled_ns, u32 reason, u64 now_ns) {
  if (!to || !ledger) return 0;
  u64 since_ns = ledger->since_ns;
  u64 runnable_ns = runnable_since(ledger, now_ns);
  u64 ready_ns = ns_between(runnable_ns, now_ns);
  struct wait_parts wait = {.blocked_ns = ns_between(since_ns, runnable_ns),
                            .throttled_ns = throttled_ns < ready_ns ? throttled_ns : ready_ns};
  wait.ready_ns = ready_ns - wait.throttled_ns;
  leave_measured(&wait, since_ns, now_ns);
  to->open_ns = wait.blocked_ns + wait.throttled_ns + wait.ready_ns;
  to->open_state = wait.throttled_ns                                           ? WAIT_THROTTLED
                   : ledger->state == LEDGER_PREEMPTED && ledger->is_left_idle ? WAIT_UNKNOWN
                                                                               : ledger->state;
  add_parts(&to->sums, &wait, ledger->state, ledger->is_left_idle);
  if (reason == REASON_LOCK)
    to->lock_ns += wait.blocked_ns;
  else if (reason < FIRST_REASONS)
    to->reason_ns[reason] += wait.blocked_ns;
  return 0;
}

/* Adds the present wait or run of the thread, which goes on. */
static __always_inline void add_present(struct offcpu_thread* to, struct task_struct* task,
                                        struct thread_ledger* ledger, u64 now_ns) {
  if (ledger->state == LEDGER_ON_CPU)
    to->sums.oncpu_ns += ns_between(measured_from(ledger->since_ns), measured_until(now_ns));
  else
    add_present_wait(to, ledger, throttled_in_wait(task, ledger, now_ns), reason_of(task, ledger),
                     now_ns);
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
