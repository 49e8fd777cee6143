/* SPDX-License-Identifier: GPL-2.0 */
/* A call that took as long as its threshold gets its own record and behind it a span_record with
 * what the thread did meanwhile and where the call came from. A quick call costs only the note of
 * its begin. */
#pragma once

#include "bpf/call.bpf.h"
#include "bpf/latencies.bpf.h"
#include "bpf/places.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "bpf/user_stack.bpf.h"
#include "bpf/wait.bpf.h"
#include "probes/syscalls/calls.bpf.h"
#include "probes/syscalls/cells.bpf.h"
#include "probes/syscalls/objects.bpf.h"

const volatile u8 want_stalls;
const volatile u8 calls_on_cpu; /* a quick call is on its CPU only: nothing is noted at its begin */

/* By native call; 0: the session's threshold. User space may change it at any time. */
u64 call_threshold_ns[SYSCALL_TABLE_SIZE];

struct stall_scratch {
  struct call_object object;
  struct span_record span;
  struct user_registers registers;
  u8 stack[USER_STACK_ROOM + PYTHON_ROOM];
  struct python_scratch python;
};

/* One per CPU: programs at system calls do not preempt each other. Not a per-CPU array, whose
 * values must be small. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct stall_scratch);
} stall_scratch SEC(".maps");

static __always_inline u64 own_threshold(u16 abi, u32 nr) {
  if (abi != ABI_NATIVE || nr >= SYSCALL_TABLE_SIZE) return 0;
  return call_threshold_ns[nr & (SYSCALL_TABLE_SIZE - 1)];
}

/* Counts a call that has ended. */
static __always_inline void count_call(u16 abi, u32 nr, u64 latency_ns) {
  bool has_slot = abi == ABI_NATIVE && nr < SYSCALL_TABLE_SIZE;
  count_in_slot(has_slot ? SLOT_OF_CALL + nr : SPAN_SYSCALL, latency_ns);
}

/* Whether the call that ends is too short for its threshold. Calls that are timed have a
 * `latency_ns`; otherwise, as far as is known without reading the clock: if it had gone on for long
 * since the last switch here, a tick would have come. (A tick that a hypervisor or disabled
 * interrupts delayed comes before the call's end, which runs with interrupts enabled.) */
static __always_inline bool was_quick(const struct open_call* call, const struct cpu_ledger* cpu,
                                      bool is_timed, u64 latency_ns) {
  u64 quiet_ns = control.quiet_ns, looked_ns = cpu->looked_ns;
  if (!quiet_ns && !is_timed) return false;
  u64 longest_ns = (looked_ns > call->begin_ns ? looked_ns - call->begin_ns : 0) + quiet_ns;
  if (is_timed) longest_ns = latency_ns;
  u64 threshold_ns = own_threshold(call->abi, call->nr);
  if (!threshold_ns) threshold_ns = control.threshold_ns[SPAN_SYSCALL];
  return !threshold_ns || threshold_ns > longest_ns;
}

/* A call of a known member begins. False if the thread is not known as a member, or the call cannot
 * be noted on the CPU. */
static __always_inline bool begin_known_call(struct task_struct* task, s64 id) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  u32 nr;
  if (!cpu || cpu->member != member_key(task)) return false;
  if (cpu->call.who && cpu->call.who != (u64)task) return false;
  if (!control.armed || !cpu_wanted()) return false;
  u16 abi = split_call_id(task, id, &nr);
  if (filtered && !is_wanted(abi, nr)) return false;
  if (replaces_program(abi, nr)) return false; /* more has to be noted */
  begin_call_on_cpu(cpu, task, nr, abi, bpf_ktime_get_ns());
  return true;
}

/* The state has no open call: its number and ABI only choose the cell. */
static __noinline int add_quick_call(struct task_struct* task, const struct open_call* call,
                                     u64 latency_ns, s64 ret) {
  struct thread_state* state = task && call ? member_state(task) : 0;
  if (!state) return 0;
  state->nr = call->nr;
  state->abi = call->abi;
  struct syscall_cell* cell = find_cell(task, state);
  if (cell) add_to_cell(cell, latency_ns, ret);
  return 0;
}

/* Ends the call if it was quick, or its thread is no longer a member. */
static __always_inline bool end_known_call(struct task_struct* task, s64 ret) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu || cpu->call.who != (u64)task) return false;
  /* One path, which the verifier checks once. */
  bool is_counted = counts_latencies(SPAN_SYSCALL), is_timed = is_counted || want_cells;
  u64 latency_ns = is_timed ? ns_between(cpu->call.begin_ns, bpf_ktime_get_ns()) : 0;
  u64 may_matter =
      !was_quick(&cpu->call, cpu, is_timed, latency_ns) | (cpu->call.nr == RT_SIGRETURN);
  barrier_var(may_matter);
  if (may_matter && member_state(task)) return false;
  cpu->call.who = 0;
  if (is_counted && !may_matter) count_call(cpu->call.abi, cpu->call.nr, latency_ns);
  if (want_cells && !may_matter) add_quick_call(task, &cpu->call, latency_ns, ret);
  return true;
}

/* Moves the call that `state` has begun to the CPU; the thread's next calls begin there. The call
 * stays in `state` while the CPU has another thread's call, or the thread has no ledger. */
static __noinline int put_call_on_cpu(struct task_struct* task, struct thread_state* state) {
  if (!task || !state) return 0;
  struct cpu_ledger* cpu = this_cpu_ledger();
  struct thread_ledger* ledger = ledger_of(task);
  if (!cpu || !ledger || (cpu->call.who && cpu->call.who != (u64)task)) return 0;
  struct open_call* before = find_call(ledger, task);
  if (before) before->who = 0; /* its end was not seen */
  ledger->cpu = task->thread_info.cpu;
  cpu->member = ledger->member = member_key(task);
  begin_call_on_cpu(cpu, task, state->nr, state->abi, state->enter_ns);
  if (calls_on_cpu) state->in_call = CALL_NONE;
  return 0;
}

/* The reverse: at its end, the open call of `task` moves back to `state`, and the thread's ledger
 * notes the call. */
static __noinline int take_call_back(struct task_struct* task, struct thread_state* state) {
  if (!task || !state) return 0;
  struct thread_ledger* ledger = ledger_of(task);
  if (!ledger) return 0;
  if (ledger->cpu != task->thread_info.cpu) fetch_call(ledger, task);
  struct open_call* call = find_call(ledger, task);
  if (!call || call->who & CLAIM_SETTLED) return 0;
  u64 who = call->who;
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (cpu && call == &cpu->call) {
    /* Before the sums are marked: the thread came before the call began, and what it waited until
     * then is not part of the call. */
    if (ledger->state != LEDGER_ON_CPU) note_unseen_switch_in(ledger, cpu, bpf_ktime_get_ns());
    note_call(ledger, cpu);
  }
  struct open_call copy = *call;
  if (__sync_val_compare_and_swap(&call->who, who, 0) != who || !calls_on_cpu) return 0;
  state->enter_ns = copy.begin_ns;
  state->nr = copy.nr;
  state->abi = copy.abi;
  state->in_call = CALL_OPEN;
  return 0;
}

static __always_inline bool is_stall(struct task_struct* task, const struct thread_state* state,
                                     u64 latency_ns) {
  u64 own_ns = own_threshold(state->abi, state->nr);
  u64 least_ns = control.threshold_ns[SPAN_SYSCALL];
  if (own_ns) return latency_ns >= own_ns;
  if (!least_ns || latency_ns < least_ns) return false;
  return is_late_by_name(task, SPAN_SYSCALL, latency_ns);
}

/* Adds the user stack that belongs to the registers in `scratch`. */
static __always_inline void add_user_side(struct stall_scratch* scratch) {
  if (!user_stack_bytes) return;
  scratch->span.flags |= SPAN_HAS_USER_STACK;
  scratch->span.user_bytes = copy_user_stack(scratch->stack, scratch->registers.rsp,
                                             user_stack_bytes, &scratch->span.flags);
  scratch->span.header.size += sizeof(struct user_registers) + scratch->span.user_bytes;
  scratch->span.header.size +=
      append_python(scratch->stack, &scratch->span.user_bytes, USER_STACK_ROOM, &scratch->python,
                    &scratch->span.flags);
}

enum timed_call {
  NANOSLEEP = 35,
  RT_SIGTIMEDWAIT = 128,
  FUTEX = 202,
  IO_GETEVENTS = 208,
  SEMTIMEDOP = 220,
  CLOCK_NANOSLEEP = 230,
  MQ_TIMEDSEND = 242,
  MQ_TIMEDRECEIVE = 243,
  EPOLL_PWAIT2 = 441,
};

/* The address of the time that the call was given; 0: it has none, or overwrites it with the time
 * left. */
static __always_inline u64 time_argument(const struct thread_state* state) {
  if (state->abi != ABI_NATIVE) return 0;
  switch (state->nr) {
    case NANOSLEEP:
      return state->arguments[0];
    case RT_SIGTIMEDWAIT:
    case CLOCK_NANOSLEEP:
      return state->arguments[2];
    case FUTEX:
    case SEMTIMEDOP:
    case EPOLL_PWAIT2:
      return state->arguments[3];
    case IO_GETEVENTS:
    case MQ_TIMEDSEND:
    case MQ_TIMEDRECEIVE:
      return state->arguments[4];
    default:
      return 0;
  }
}

/* The time or moment that the call was given, in ns; 0: none, or it cannot be read. */
static __always_inline u64 time_given(const struct thread_state* state) {
  const u64 max_s = 1ull << 33; /* fewer seconds than this fit as nanoseconds */
  struct {
    u64 s, ns;
  } time;
  u64 from = time_argument(state);
  if (!from || bpf_probe_read_user(&time, sizeof(time), (const void*)from)) return 0;
  return time.s < max_s ? time.s * 1000000000 + time.ns : 0;
}

static __always_inline void begin_span(struct span_record* span, struct task_struct* task,
                                       struct thread_state* state, u64 now_ns) {
  __builtin_memset(span, 0, sizeof(*span));
  fill_header(&span->header, task, state, now_ns);
  span->header.kind = RECORD_SPAN;
  span->header.size = sizeof(*span);
  span->span = SPAN_SYSCALL;
  span->latency_ns = ns_since_entry(state, now_ns);
  span->subject = state->nr;
}

static __always_inline void put_ledger(struct span_record* span, const struct ledger_sums* sums) {
  span->ledger = sums->parts;
  span->throttled_ns = sums->throttled_ns;
  span->flags |= SPAN_HAS_LEDGER;
}

static __always_inline void fill_span(struct span_record* span, struct task_struct* task,
                                      struct thread_state* state, u64 now_ns) {
  begin_span(span, task, state, now_ns);
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!ledger || !cpu) return;
  if (ledger->state != LEDGER_ON_CPU) note_unseen_switch_in(ledger, cpu, now_ns);
  if (ledger->call_ns != state->enter_ns) return; /* an unreported switch */
  struct ledger_sums sums;
  read_ledger(ledger, cpu, now_ns, &sums);
  subtract_sums(&sums, &ledger->at_call);
  put_ledger(span, &sums);
}

static __always_inline int send_span(struct stall_scratch* scratch, void* ring) {
  u32 size = scratch->span.header.size;
  barrier_var(size);
  if (size > offsetof(struct stall_scratch, python) - sizeof(scratch->object)) return 0;
  if (bpf_ringbuf_output(ring, &scratch->span, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

/* Reports the object of the call's descriptor, if the call has one. */
static __always_inline void emit_object(struct call_object* object, struct task_struct* task,
                                        struct thread_state* state, void* ring, u64 now_ns) {
  struct poll_entry entry = {.fd = -1};
  const void* from = only_poll_entry(state);
  if (from && bpf_probe_read_user(&entry, sizeof(entry), from)) entry.fd = -1;
  if (!describe_object(object, task, state, entry.fd)) return;
  fill_header(&object->header, task, state, now_ns);
  object->header.kind = RECORD_CALL_OBJECT;
  object->header.size = sizeof(*object);
  if (bpf_ringbuf_output(ring, object, sizeof(*object), BPF_RB_NO_WAKEUP))
    count(COUNTER_RING_FULL, 1);
}

/* Reports the sums of the call's short waits, if it had any. */
static __always_inline void emit_places(struct task_struct* task, struct thread_state* state,
                                        void* ring, u64 now_ns) {
  const struct place_table* table = place_table_of(task->pid);
  if (!table || table->owner != (u64)task || table->call_ns != state->enter_ns) return;
  struct wait_places* record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_header(&record->header, task, state, now_ns);
  record->header.kind = RECORD_WAIT_PLACES;
  record->header.size = sizeof(*record);
  record->call_ns = table->call_ns;
  record->others_ns = table->others_ns;
  __builtin_memcpy(record->places, table->places, sizeof(record->places));
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __noinline int emit_explanation(struct task_struct* task, struct thread_state* state,
                                       u64 now_ns, u8 call_flags) {
  if (!task || !state) return 0;
  u32 cpu = bpf_get_smp_processor_id();
  struct stall_scratch* scratch = bpf_map_lookup_elem(&stall_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!scratch || !ring) return 0;
  emit_places(task, state, ring, now_ns);
  if (!(call_flags & SYSCALL_UNRETURNED)) emit_object(&scratch->object, task, state, ring, now_ns);
  fill_span(&scratch->span, task, state, now_ns);
  if (!(call_flags & SYSCALL_UNRETURNED)) scratch->span.detail = time_given(state);
  if (!(call_flags & SYSCALL_UNRETURNED) && state->abi != ABI_COMPAT) {
    copy_registers(&scratch->registers, (struct pt_regs*)bpf_task_pt_regs(task));
    add_user_side(scratch);
  }
  return send_span(scratch, ring);
}

/* Reads only now what `--calls` notes at a call's entry, because few calls come here. Exception:
 * the arguments of a call that has replaced its program were noted when it began. Of a call that
 * did not return nothing can be read: its strings are then null pointers. */
static __always_inline void gather_arguments(struct task_struct* task, struct thread_state* state,
                                             s64 ret, u8 flags) {
  if (has_changed_memory(state, ret)) return;
  __builtin_memset(state->arguments, 0, sizeof(state->arguments));
  if (!(flags & SYSCALL_UNRETURNED))
    copy_arguments(state, (struct pt_regs*)bpf_task_pt_regs(task), state->abi);
  remember_arguments(task, state);
}

/* For the running thread. Not static: see is_late_by_glob(). Linux 6.1 checks the function even if
 * no stalls are wanted, and its maps do not exist then. */
__noinline int emit_stall(struct thread_state* state, u64 now_ns, s64 ret, u8 flags) {
  if (!want_stalls || !state) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (!want_calls) {
    gather_arguments(task, state, ret, flags);
    emit_call(task, state, now_ns, ns_since_entry(state, now_ns), ret, flags);
  }
  return emit_explanation(task, state, now_ns, flags);
}
