/* SPDX-License-Identifier: GPL-2.0 */
/* Calls that have been open for long, reported while they are open: user space runs one of the
 * iterators below now and then. For every call that it has not written before, an iterator writes a
 * syscall_call and behind it a span_record with SPAN_OPEN: what the thread did so far, and where it
 * is. A sched_throttle in front of the span names the limit that throttles the thread. */
#pragma once

#include "probes/syscalls/present.bpf.h"
#include "probes/syscalls/stalls.bpf.h"

u64 hang_after_ns;                   /* may change at any time; 0: no hangs are wanted */
const volatile u32 hang_stack_bytes; /* bytes of a user stack to copy; 0: none */

struct hang_scratch {
  struct call_object object;
  struct syscall_call call;
  char text[SYSCALL_TEXTS * SYSCALL_TEXT_SIZE];
  char raw_text[SYSCALL_TEXT_SIZE];
  struct sched_throttle throttle; /* header.size is 0: none */
  struct span_record span;
  struct thread_ledger ledger;
  struct thread_state state;
  struct user_registers registers;
  u64 kernel_stack[KERNEL_FRAMES_MAX];
  u8 stack[HANG_STACK_MAX];
};

/* One entry: user space runs one iterator at a time. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct hang_scratch);
} hang_scratch SEC(".maps");

/* Like subtract_sums(), for sums that another thread is adding to: interrupts on another CPU are
 * not looked up, and count as the thread's time on the CPU. */
static __always_inline void keep_surplus(struct ledger_parts* sums,
                                         const struct ledger_parts* begin) {
  sums->oncpu_ns = surplus(sums->oncpu_ns, begin->oncpu_ns);
  sums->runqueue_ns = surplus(sums->runqueue_ns, begin->runqueue_ns);
  sums->preempted_ns = surplus(sums->preempted_ns, begin->preempted_ns);
  sums->sleeping_ns = surplus(sums->sleeping_ns, begin->sleeping_ns);
  sums->uninterruptible_ns = surplus(sums->uninterruptible_ns, begin->uninterruptible_ns);
  sums->irq_ns = surplus(sums->irq_ns, begin->irq_ns);
  sums->softirq_ns = surplus(sums->softirq_ns, begin->softirq_ns);
}

/* The ledger of a thread that has not left its CPU since the call began does not know the call yet.
 * Interrupts between the thread's arrival and the call's begin are time on the CPU, like those
 * since then. */
static __noinline int note_call_of_running(struct hang_scratch* scratch) {
  if (!scratch || scratch->ledger.call_ns == scratch->state.enter_ns) return 0;
  struct thread_ledger* ledger = &scratch->ledger;
  const struct cpu_ledger* cpu = ledger_of_cpu(ledger->cpu);
  if (!cpu || cpu->call.begin_ns != scratch->state.enter_ns) return 0;
  note_call(ledger, cpu);
  const struct ledger_parts* sums = &ledger->sums.parts;
  struct ledger_parts* at_call = &ledger->at_call.parts;
  at_call->oncpu_ns += at_call->irq_ns - sums->irq_ns;
  at_call->oncpu_ns += at_call->softirq_ns - sums->softirq_ns;
  at_call->irq_ns = sums->irq_ns;
  at_call->softirq_ns = sums->softirq_ns;
  return 0;
}

/* For a call older than the session, the parts are known if its thread has slept ever since. */
static __always_inline void fill_parts(struct hang_scratch* scratch, struct task_struct* task,
                                       bool older, u64 now_ns) {
  struct span_record* span = &scratch->span;
  struct thread_ledger* ledger = &scratch->ledger;
  u64 begin_ns = scratch->state.enter_ns;
  const struct present_thread thread = {.address = (u64)task, .is_real_time = is_real_time(task)};
  ledger->throttled_ns = 0; /* of an earlier wait */
  if (older) {
    if (ledger->since_ns > begin_ns) {
      note_present(span, &thread, ledger, now_ns);
      return;
    }
    ledger->since_ns = begin_ns;
    note_present(span, &thread, ledger, now_ns);
  } else {
    if (ledger->call_ns != begin_ns) return; /* an unreported switch */
    span->ledger = ledger->sums.parts;
    span->throttled_ns = ledger->sums.throttled_ns;
    note_present(span, &thread, ledger, now_ns);
    keep_surplus(&span->ledger, &ledger->at_call.parts);
    span->throttled_ns = surplus(span->throttled_ns, ledger->at_call.throttled_ns);
  }
  span->flags |= SPAN_HAS_LEDGER;
}

/* Names the tracer that keeps the thread stopped, in the words of the present state: "traced
 * NAME[TID]". */
static __noinline int name_tracer(struct span_record* span, struct task_struct* task) {
  static const char format[] = "traced %s[%d]";
  if (!span || !task || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_snprintf)) return 0;
  if (span->text[0] != 'o' || !task->ptrace) return 0; /* "other" */
  struct task_struct* tracer = BPF_CORE_READ(task, parent);
  char comm[COMM_SIZE] = {};
  BPF_CORE_READ_STR_INTO(&comm, tracer, comm);
  u64 arguments[] = {(u64)comm, BPF_CORE_READ(tracer, pid)};
  bpf_snprintf(span->text, sizeof(span->text), format, arguments, sizeof(arguments));
  return 0;
}

struct mapping_end {
  u64 end;
};

/* By a helper, as real_time_queue_of() reads. */
static __always_inline struct file* file_of_mapping(struct vm_area_struct* vma) {
  return BPF_CORE_READ(vma, vm_file);
}

/* A read of memory that belongs to a file may wait for the file's server. */
static long note_mapping(struct task_struct* task, struct vm_area_struct* vma,
                         struct mapping_end* mapping) {
  if (!file_of_mapping(vma)) mapping->end = vma->vm_end;
  return 0;
}

/* Returns the number of bytes copied. Never waits for the target: bpf_find_vma() fails while the
 * target's mappings are being changed. */
static __always_inline u32 copy_stack_of(struct task_struct* task, struct hang_scratch* scratch) {
  struct mapping_end mapping = {};
  u64 rsp = scratch->registers.rsp;
  u64 from = rsp - USER_RED_ZONE;
  if (bpf_find_vma(task, rsp, note_mapping, &mapping, 0) || mapping.end <= rsp) return 0;
  u64 size = mapping.end - from;
  if (size > hang_stack_bytes) {
    size = hang_stack_bytes;
    scratch->span.flags |= SPAN_STACK_CUT;
  }
  barrier_var(size);
  if (size > HANG_STACK_MAX) return 0;
  return bpf_copy_from_user_task(scratch->stack, size, (void*)from, task, 0) ? 0 : size;
}

/* The descriptor of a poll with only one; -1: not known. */
static __always_inline int polled_by(struct task_struct* task, const struct thread_state* state) {
  struct mapping_end mapping = {};
  struct poll_entry entry = {.fd = -1};
  u64 from = (u64)only_poll_entry(state);
  if (!from || bpf_find_vma(task, from, note_mapping, &mapping, 0)) return -1;
  if (mapping.end < from + sizeof(entry)) return -1;
  return bpf_copy_from_user_task(&entry, sizeof(entry), (void*)from, task, 0) ? -1 : entry.fd;
}

/* include/uapi/linux/magic.h */
#define EXT_MAGIC 0xEF53
#define XFS_MAGIC 0x58465342
#define BTRFS_MAGIC 0x9123683E
#define F2FS_MAGIC 0xF2F52010
#define EROFS_MAGIC 0xE0F5E1E2
#define SQUASHFS_MAGIC 0x73717368
#define TMPFS_MAGIC 0x01021994

/* Whether the kernel itself serves the file, from memory or a disk: no other process or machine can
 * delay a read. On overlayfs, the mapped file is the one below. */
static __always_inline bool is_served_here(struct file* file) {
  switch (BPF_CORE_READ(file, f_inode, i_sb, s_magic)) {
    case EXT_MAGIC:
    case XFS_MAGIC:
    case BTRFS_MAGIC:
    case F2FS_MAGIC:
    case EROFS_MAGIC:
    case SQUASHFS_MAGIC:
    case TMPFS_MAGIC:
      return true;
    default:
      return false;
  }
}

/* Strings are often constants in a program's file. The call has read them, so they have been in
 * memory. */
static long note_text_mapping(struct task_struct* task, struct vm_area_struct* vma,
                              struct mapping_end* mapping) {
  struct file* file = file_of_mapping(vma);
  if (!file || is_served_here(file)) mapping->end = vma->vm_end;
  return 0;
}

/* Appends the string to those copied already; if it cannot be copied, it stays an address. */
static __always_inline void copy_text_of(struct task_struct* task, struct hang_scratch* scratch,
                                         u32 argument) {
  struct syscall_call* call = &scratch->call;
  struct mapping_end mapping = {};
  u64 from = call->arguments[argument];
  u64 at = call->text_size;
  barrier_var(at); /* the value compared is the value used */
  if (!from || at > (SYSCALL_TEXTS - 1) * SYSCALL_TEXT_SIZE) return;
  if (bpf_find_vma(task, from, note_text_mapping, &mapping, 0) || mapping.end <= from) return;
  u64 size = mapping.end - from;
  if (size > SYSCALL_TEXT_SIZE) size = SYSCALL_TEXT_SIZE;
  __builtin_memset(scratch->raw_text, 0, SYSCALL_TEXT_SIZE);
  if (bpf_copy_from_user_task(scratch->raw_text, size, (void*)from, task, 0)) return;
  long length = bpf_probe_read_kernel_str(scratch->text + at, SYSCALL_TEXT_SIZE, scratch->raw_text);
  if (length <= 0 || length > SYSCALL_TEXT_SIZE) return;
  if ((u64)length > size || length == SYSCALL_TEXT_SIZE) call->text_truncated |= 1 << argument;
  call->text_arguments |= 1 << argument;
  call->text_size = at + length;
}

/* Not for a call that may have replaced its caller's program. */
static __always_inline void copy_texts_of(struct task_struct* task, struct hang_scratch* scratch) {
  struct syscall_call* call = &scratch->call;
  if (has_changed_memory(&scratch->state, 0)) return;
  u8 mask = string_arguments(call->abi, call->nr);
  for (u32 i = 0; i < SYSCALL_ARGUMENTS; i++)
    if (mask >> i & 1) copy_text_of(task, scratch, i);
  call->header.size += call->text_size;
}

static __always_inline void fill_hang(struct hang_scratch* scratch, struct task_struct* task,
                                      bool older, u64 now_ns) {
  struct thread_state* state = &scratch->state;
  struct span_record* span = &scratch->span;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  __builtin_memset(span, 0, sizeof(*span));
  copy_arguments(state, regs, state->abi);
  fill_call(&scratch->call, task, state, now_ns, ns_since_entry(state, now_ns), 0,
            SYSCALL_UNRETURNED);
  fill_header(&span->header, task, state, now_ns);
  span->header.kind = RECORD_SPAN;
  span->header.size = sizeof(*span);
  span->span = SPAN_SYSCALL;
  span->flags = older ? SPAN_OPEN | SPAN_OLDER : SPAN_OPEN;
  span->latency_ns = ns_since_entry(state, now_ns);
  span->subject = state->nr;
  fill_parts(scratch, task, older, now_ns);
  name_tracer(span, task);
  fill_limit(&scratch->throttle, &span->header, &scratch->ledger);
  if (!task->on_cpu) { /* the stack of a running thread cannot be read */
    long bytes = bpf_get_task_stack(task, scratch->kernel_stack, sizeof(scratch->kernel_stack), 0);
    span->kernel_frames = bytes > 0 ? bytes / 8 : 0;
    span->header.size += span->kernel_frames * 8;
  }
  copy_registers(&scratch->registers, regs);
}

/* `polled`: as describe_object() takes it. */
static __always_inline void fill_object(struct hang_scratch* scratch, struct task_struct* task,
                                        int polled, u64 now_ns) {
  const struct thread_state* state = &scratch->state;
  scratch->object.header.size = 0;
  if (!describe_object(&scratch->object, task, state, polled)) return;
  fill_header(&scratch->object.header, task, state, now_ns);
  scratch->object.header.kind = RECORD_CALL_OBJECT;
  scratch->object.header.size = sizeof(scratch->object);
}

static __always_inline int write_hang(struct seq_file* seq, struct hang_scratch* scratch) {
  struct span_record* span = &scratch->span;
  u32 frames = span->kernel_frames, bytes = span->user_bytes;
  if (frames > KERNEL_FRAMES_MAX || bytes > HANG_STACK_MAX) return -1;
  u32 text = scratch->call.text_size;
  if (text > sizeof(scratch->text)) return -1;
  if (bpf_seq_write(seq, &scratch->call, sizeof(scratch->call))) return -1;
  if (text && bpf_seq_write(seq, scratch->text, text)) return -1;
  const struct call_object* object = &scratch->object;
  if (object->header.size && bpf_seq_write(seq, object, sizeof(*object))) return -1;
  const struct sched_throttle* throttle = &scratch->throttle;
  if (throttle->header.size && bpf_seq_write(seq, throttle, sizeof(*throttle))) return -1;
  if (bpf_seq_write(seq, span, sizeof(*span))) return -1;
  if (frames && bpf_seq_write(seq, scratch->kernel_stack, frames * 8)) return -1;
  if (!bytes) return 0;
  if (bpf_seq_write(seq, &scratch->registers, sizeof(scratch->registers))) return -1;
  return bpf_seq_write(seq, scratch->stack, bytes) ? -1 : 0;
}

/* Copies the open call of `task`, as far as it is known: the call may end at any moment. */
static __always_inline void copy_call(struct task_struct* task, struct thread_state* state,
                                      struct thread_ledger* ledger, struct thread_state* copy) {
  *copy = *state;
  struct open_call* call = find_call(ledger, task);
  if (!call) return;
  copy->in_call = CALL_OPEN;
  copy->enter_ns = call->begin_ns;
  copy->nr = call->nr;
  copy->abi = call->abi;
}

/* Whether `task` is in a call that is to be reported. */
static __always_inline bool is_hanging(struct task_struct* task, struct thread_state* state,
                                       struct thread_ledger* ledger, struct thread_state* copy,
                                       bool* older, u64 now_ns) {
  s64 id = -1;
  copy_call(task, state, ledger, copy);
  if (ledger->hang_call_ns == copy->enter_ns) return false; /* reported already */
  if (surplus(now_ns, copy->enter_ns) < hang_after_ns) return false;
  if (copy->in_call != CALL_OPEN) {
    if (copy->in_call != CALL_NONE || !in_older_call(task, copy, &id)) return false;
    copy->abi = split_call_id(task, id, &copy->nr);
    if (filtered && !is_wanted(copy->abi, copy->nr)) return false;
    *older = true;
  }
  return true;
}

static __always_inline int tell_hang(struct bpf_iter__task* ctx, bool may_sleep) {
  struct task_struct* task = ctx->task;
  u32 zero = 0;
  struct hang_scratch* scratch = bpf_map_lookup_elem(&hang_scratch, &zero);
  if (!task || !scratch || !hang_after_ns || !control.armed) return 0;
  if (is_exiting(task) || has_no_user_side(task)) return 0;
  struct thread_state* state = find_of_thread(threads, task);
  if (!state) return 0;
  struct thread_ledger* ledger = ledger_of(task);
  if (!ledger) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  bool older = false;
  if (!is_hanging(task, state, ledger, &scratch->state, &older, now_ns)) return 0;
  bpf_probe_read_kernel(&scratch->ledger, sizeof(scratch->ledger), ledger);
  u64 since_ns = scratch->ledger.since_ns;
  look_for_arrival(task, &scratch->ledger, now_ns);
  look_for_wake(task, &scratch->ledger);
  note_call_of_running(scratch);
  fill_hang(scratch, task, older, now_ns);
  fill_object(scratch, task, may_sleep ? polled_by(task, &scratch->state) : -1, now_ns);
  if (may_sleep) copy_texts_of(task, scratch);
  if (may_sleep && hang_stack_bytes && scratch->state.abi != ABI_COMPAT) {
    u32 bytes = copy_stack_of(task, scratch);
    scratch->span.user_bytes = bytes;
    if (bytes) {
      scratch->span.flags |= SPAN_HAS_USER_STACK;
      scratch->span.header.size += sizeof(struct user_registers) + bytes;
    }
  }
  /* The thread may have gone on meanwhile: the next run looks again. */
  const struct open_call* call = find_call(ledger, task);
  u64 begin_ns = call ? call->begin_ns : state->enter_ns;
  if (begin_ns != scratch->state.enter_ns || ledger->since_ns != since_ns) return 0;
  if (!write_hang(ctx->meta->seq, scratch)) ledger->hang_call_ns = scratch->state.enter_ns;
  return 0;
}

/* Sleepable, to read the memory of another process. */
SEC("?iter.s/task")
int hanging_calls(struct bpf_iter__task* ctx) {
  return tell_hang(ctx, true);
}

/* For kernels without sleepable iterators: without user stacks, and with addresses of strings. */
SEC("?iter/task")
int hanging_calls_without_stacks(struct bpf_iter__task* ctx) {
  return tell_hang(ctx, false);
}
