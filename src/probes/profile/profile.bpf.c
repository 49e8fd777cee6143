// SPDX-License-Identifier: GPL-2.0
// Where threads run: an event of each CPU, at a fixed rate, samples the thread that it interrupts.
#include "bpf/profile.h"
#include "bpf/target.bpf.h"
#include "bpf/user_stack.bpf.h"

struct profile_counts {
  u64 samples; /* as in profile_cpu */
  u64 idle;
  u64 others;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct profile_counts);
} profile_counts SEC(".maps");

#define KERNEL_STACK_BYTES (KERNEL_FRAMES_MAX * 8)

struct profile_scratch {
  struct profile_sample sample;
  u8 stacks[KERNEL_STACK_BYTES + sizeof(struct user_registers) + USER_STACK_ROOM + PYTHON_ROOM];
  struct python_scratch python;
};

/* One per CPU: the event of a CPU does not interrupt itself. Not a per-CPU array, whose values must
 * be small. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct profile_scratch);
} profile_scratch SEC(".maps");

/* Copies the user side behind the kernel stack, which has `kernel_bytes`. Returns its size. An
 * event in the program leaves the program's registers where a system call does. */
static __always_inline u32 fill_user_side(struct profile_scratch* scratch, u32 kernel_bytes,
                                          struct task_struct* task) {
  if (!user_stack_bytes || is_exiting(task) || has_no_user_side(task) || has_32_bit_registers(task))
    return 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  u16 flags = SPAN_HAS_USER_STACK;
  u8* user = scratch->stacks + kernel_bytes;
  copy_registers((struct user_registers*)user, regs);
  u32 bytes =
      copy_user_stack(user + sizeof(struct user_registers), regs->sp, user_stack_bytes, &flags);
  scratch->sample.user_bytes = bytes;
  u32 python = append_python(user + sizeof(struct user_registers), &scratch->sample.user_bytes,
                             USER_STACK_ROOM, &scratch->python, &flags);
  scratch->sample.flags = flags;
  return sizeof(struct user_registers) + bytes + python;
}

static __always_inline void fill_sample(struct profile_sample* sample, struct task_struct* task,
                                        const struct thread_state* state) {
  fill_header(&sample->header, task, state, bpf_ktime_get_ns());
  sample->header.kind = RECORD_PROFILE_SAMPLE;
  __builtin_memset(sample->process, 0, sizeof(sample->process));
  BPF_CORE_READ_STR_INTO(&sample->process, task, group_leader, comm);
  fill_origin(&sample->origin, task, state);
  sample->flags = sample->user_bytes = sample->reserved = 0;
}

static __always_inline void emit_sample(void* ctx, struct task_struct* task,
                                        const struct thread_state* state) {
  u32 cpu = bpf_get_smp_processor_id();
  struct profile_scratch* scratch = bpf_map_lookup_elem(&profile_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!scratch || !ring) return;
  fill_sample(&scratch->sample, task, state);
  long got = bpf_get_stack(ctx, scratch->stacks, KERNEL_STACK_BYTES, 0);
  u32 kernel_bytes = got > 0 ? got : 0;
  barrier_var(kernel_bytes);
  if (kernel_bytes > KERNEL_STACK_BYTES) return;
  scratch->sample.kernel_frames = kernel_bytes / 8;
  u32 size = sizeof(scratch->sample) + kernel_bytes;
  size += fill_user_side(scratch, kernel_bytes, task);
  scratch->sample.header.size = size;
  barrier_var(size);
  if (size > offsetof(struct profile_scratch, python)) return;
  if (bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
}

SEC("perf_event")
int COUNTED_PROG(take_sample) {
  u32 zero = 0;
  struct profile_counts* counts = bpf_map_lookup_elem(&profile_counts, &zero);
  if (!control.armed || !counts) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (!task->pid) {
    counts->idle++;
    return 0;
  }
  struct thread_state* state = member_state(task);
  if (!state) {
    counts->others++;
    return 0;
  }
  counts->samples++;
  emit_sample(ctx, task, state);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
