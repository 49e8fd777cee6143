// SPDX-License-Identifier: GPL-2.0
// Decides in the kernel which threads belong to the target, so that a new thread is measured from
// its fork on. A task iterator finds existing threads; fork, rename and cgroup hooks find later
// ones.
#include "bpf/compat.bpf.h"
#include "bpf/glob.bpf.h"
#include "bpf/origin.bpf.h"
#include "bpf/python_runtimes.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task_of_pid.bpf.h"
#include "bpf/unpreempted.bpf.h"

#include "kernel/membership_wire.h"

const volatile u8 target_all;
const volatile u8 follow_children;
const volatile u32 own_pid; /* Overdue never measures itself */
const volatile u8 leave_children_out;
const volatile u8 adopt_children; /* those that run already */
const volatile u32 glob_count;
const volatile struct glob_program globs[TARGET_GLOBS];
const volatile u32 cgroup_count;
const volatile u64 cgroup_ids[TARGET_CGROUPS];

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, TARGET_IDS_MAX);
  __type(key, u32);
  __type(value, u32);
} target_ids SEC(".maps");

#define CGROUP_DEPTH_MAX 64

/* Functions that are not static are checked by the verifier once, not on each path that calls
 * them. */
__noinline bool is_target_cgroup(u64 id) {
  for (u32 i = 0; i < TARGET_CGROUPS && i < cgroup_count; i++)
    if (cgroup_ids[i] == id) return true;
  return false;
}

/* Whether `cgroup` is in the target, or below one that is. By ancestry, so later children count. */
static __noinline bool cgroup_matches(struct cgroup* cgroup) {
  for (u32 depth = 0; depth < CGROUP_DEPTH_MAX && cgroup; depth++) {
    if (is_target_cgroup(BPF_CORE_READ(cgroup, kn, id))) return true;
    cgroup = (struct cgroup*)BPF_CORE_READ(cgroup, self.parent);
  }
  return false;
}

__noinline bool matches_target_glob(const struct thread_name* name, u32 i) {
  return name && i < TARGET_GLOBS && name_matches_glob(&globs[i], name);
}

static __always_inline bool name_matches(const char* kernel_name) {
  struct thread_name name = {};
  if (!glob_count) return false;
  bpf_probe_read_kernel_str(name.text, sizeof(name.text), kernel_name);
  for (u32 i = 0; i < TARGET_GLOBS && i < glob_count; i++)
    if (matches_target_glob(&name, i)) return true;
  return false;
}

static __always_inline u64 departures_of(const struct task_struct* task) {
  return task->nvcsw + task->nivcsw;
}

/* Notes which process started that of `task`. */
static __always_inline void note_origin(struct thread_state* state, struct task_struct* task) {
  state->process_start_ns = BPF_CORE_READ(task, group_leader, start_time);
  struct task_struct* starter = starter_of(task, state->process_start_ns);
  state->parent_pid = BPF_CORE_READ(starter, tgid);
  BPF_CORE_READ_STR_INTO(&state->parent, starter, comm);
}

/* Makes `task` a member, unless it is exiting. A second call changes nothing. */
static __always_inline void adopt_any(struct task_struct* task, u8 fresh) {
  struct thread_state initial = {.fresh = fresh};
  if (is_exiting(task) || find_of_thread(threads, task)) return;
  struct cgroup* cgroup = watched_cgroup(task);
  if (cgroup) initial.cgroup_id = BPF_CORE_READ(cgroup, kn, id);
  note_origin(&initial, task);
  initial.enter_ns = bpf_ktime_get_ns();
  if (fresh != FRESH_BORN) {
    initial.cpu_ns_before = task->se.sum_exec_runtime;
    initial.departures_before = departures_of(task);
  }
  if (fresh == FRESH_ADOPTED) note_registers(&initial, (struct pt_regs*)bpf_task_pt_regs(task));
  if (!make_of_thread(threads, task, &initial)) count(COUNTER_TASK_STORAGE, 1);
}

static __always_inline void adopt(struct task_struct* task, u8 fresh) {
  if ((u32)task->tgid != own_pid) adopt_any(task, fresh);
}

/* Whether `task` is in a child or a grandchild of Overdue, such as the resolver and its workers. */
static __always_inline bool is_below_overdue(struct task_struct* task) {
  struct task_struct* parent = BPF_CORE_READ(task, real_parent);
  return (u32)BPF_CORE_READ(parent, tgid) == own_pid ||
         (u32)BPF_CORE_READ(parent, real_parent, tgid) == own_pid;
}

/* Adopts a thread that matches a rule. Not called for children of members, nor for threads that the
 * user names by number: the measured program is a child of Overdue too. */
static __always_inline void adopt_found(struct task_struct* task, u8 fresh) {
  if (!leave_children_out || !is_below_overdue(task)) adopt(task, fresh);
}

/* For calibration, which briefly measures Overdue's own main thread. */
SEC("iter/task")
int adopt_self(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task && (u32)task->pid == own_pid) adopt_any(task, FRESH_BORN);
  return 0;
}

/* Reverts adopt_self(). */
SEC("iter/task")
int release_self(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || (u32)task->pid != own_pid) return 0;
  forget_thread(threads, task);
  if (!threads_are_hashed()) bpf_task_storage_delete(&threads, task);
  return 0;
}

#define ANCESTORS_MAX 32

/* Whether an ancestor of `task` is a process of the target. */
static __noinline bool is_below_target(struct task_struct* task) {
  for (u32 i = 0; i < ANCESTORS_MAX; i++) {
    struct task_struct* parent = BPF_CORE_READ(task, real_parent);
    if (!parent || parent == task) return false;
    u32 pid = BPF_CORE_READ(parent, tgid);
    u32* process = bpf_map_lookup_elem(&target_ids, &pid);
    if (process && *process & TARGET_PROCESS) return true;
    task = parent;
  }
  return false;
}

/* Run by user space before arming, for every thread of the machine. */
SEC("iter/task")
int adopt_existing(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  u32 pid = task->tgid, tid = task->pid;
  u32* process = bpf_map_lookup_elem(&target_ids, &pid);
  u32* thread = bpf_map_lookup_elem(&target_ids, &tid);
  if (process && *process & TARGET_GATED)
    adopt(task, FRESH_BORN);
  else if ((process && *process & TARGET_PROCESS) || (thread && *thread & TARGET_THREAD))
    adopt(task, FRESH_ADOPTED);
  else if (target_all || (cgroup_count && cgroup_matches(watched_cgroup(task))) ||
           name_matches(task->comm) || (adopt_children && is_below_target(task)))
    adopt_found(task, FRESH_ADOPTED);
  return 0;
}

static __always_inline void follow_fork(struct task_struct* parent, struct task_struct* child) {
  bool new_thread = parent->tgid == child->tgid;
  bool member = find_of_thread(threads, parent) != 0;
  if (member && !follow_children) {
    u32 pid = parent->tgid;
    u32* process = bpf_map_lookup_elem(&target_ids, &pid);
    member = new_thread && process && !(*process & TARGET_THREAD);
  }
  /* clone3() can put a child into another cgroup than its parent's, inside the target or outside.
   */
  if (member && !cgroup_count)
    adopt(child, FRESH_BORN);
  else if (target_all || (cgroup_count && cgroup_matches(watched_cgroup(child))) ||
           name_matches(child->comm))
    adopt_found(child, FRESH_BORN);
}

static __always_inline void follow_rename(struct task_struct* task, const char* name) {
  struct thread_state* state = find_of_thread(threads, task);
  if (state)
    __sync_fetch_and_add(&state->label_generation, 1);
  else if (name_matches(name))
    adopt_found(task, FRESH_ADOPTED);
}

SEC("?tp_btf/sched_process_fork")
int COUNTED_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  follow_fork(parent, child);
  return 0;
}

SEC("?tp_btf/task_rename")
int COUNTED_PROG(on_rename, struct task_struct* task, const char* name) {
  follow_rename(task, name);
  return 0;
}

/* Adds atomically: threads are freed in interrupts, which may interrupt the end of another thread.
 */
static __always_inline void count_more(u32 counter, u64 now, u64* before) {
  u64* sum = bpf_map_lookup_elem(&counters, &counter);
  if (!sum) return;
  __sync_fetch_and_add(sum, now - *before);
  *before = now;
}

/* Counts the CPU use of an ending thread, as far as not counted yet. */
static __always_inline void count_cpu_use(struct task_struct* task) {
  struct thread_state* state = find_of_thread(threads, task);
  if (!state) return;
  count_more(COUNTER_CPU_NS, task->se.sum_exec_runtime, &state->cpu_ns_before);
  count_more(COUNTER_DEPARTURES, departures_of(task), &state->departures_before);
}

/* A member has left the cgroups of the target. Its open call, if any, is counted as cut. */
static __always_inline void release(struct task_struct* task, struct thread_state* state) {
  count_cpu_use(task);
  if (state->in_call == CALL_OPEN) count(COUNTER_CUT, 1);
  forget_thread(threads, task);
  if (!threads_are_hashed()) bpf_task_storage_delete(&threads, task);
  __sync_fetch_and_add(&control.releases, 1);
}

/* `task` is now in `cgroup`, of the hierarchy we watch. */
static __always_inline void follow_move(struct task_struct* task, struct cgroup* cgroup) {
  struct thread_state* state = find_of_thread(threads, task);
  u64 id = BPF_CORE_READ(cgroup, kn, id);
  if (cgroup_count && (!state || state->cgroup_id != id)) {
    bool is_inside = cgroup_matches(cgroup);
    if (state && !is_inside) return release(task, state);
    if (!state && is_inside) return adopt_found(task, FRESH_ADOPTED);
  }
  if (state && state->cgroup_id != id) {
    state->cgroup_id = id;
    __sync_fetch_and_add(&state->label_generation, 1);
  }
}

/* Runs once per move. For a process that moves as a whole, `task` is its main thread; user space
 * runs follow_moves() for the other threads. */
SEC("?tp_btf/cgroup_attach_task")
int UNPREEMPTED_PROG(on_cgroup_attach, struct cgroup* to, const char* path,
                     struct task_struct* task, bool whole_process) {
  if (BPF_CORE_READ(to, root, hierarchy_id) != cgroup_hierarchy) return 0;
  follow_move(task, to);
  if (whole_process) __sync_fetch_and_add(&control.moves, 1);
  return 0;
}

/* adopt_existing() must not run again: its process ids may have been reused since. */
SEC("?iter/task")
int follow_moves(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct cgroup* cgroup = task ? watched_cgroup(task) : 0;
  if (cgroup) follow_move(task, cgroup);
  return 0;
}

SEC("?tp_btf/sched_process_exit")
int COUNTED_PROG(on_exit, struct task_struct* task) {
  count_cpu_use(task);
  return 0;
}

/* The scheduler updates the CPU time at ticks and switches only, so a short thread has none yet at
 * its exit. When a thread is freed, it has left the CPU for good. */
SEC("tp_btf/sched_process_free")
int COUNTED_PROG(on_free, struct task_struct* task) {
  if (may_be_kept(task)) count_cpu_use(task);
  forget_thread(threads, task);
  return 0;
}

/* Fork, rename and exit on kernels that preempt the hooks above (kernel/call_hooks.h): a missed
 * fork would lose all events of the child. perf events have tids instead of threads. */
struct trace_event_raw_sched_process_fork {
  int child_pid;
} __attribute__((preserve_access_index));

struct trace_event_raw_task_rename {
  int pid;
  char newcomm[16];
} __attribute__((preserve_access_index));

SEC("?tp/sched/sched_process_fork")
int COUNTED_PROG(on_fork_event) {
  struct trace_event_raw_sched_process_fork* fork = (void*)ctx;
  struct task_struct* child = bpf_task_from_pid(fork->child_pid);
  if (!child) return 0;
  follow_fork(bpf_get_current_task_btf(), child);
  bpf_task_release(child);
  return 0;
}

SEC("?tp/task/task_rename")
int COUNTED_PROG(on_rename_event) {
  struct trace_event_raw_task_rename* rename = (void*)ctx;
  struct task_struct* task = bpf_task_from_pid(rename->pid);
  if (!task) return 0;
  follow_rename(task, rename->newcomm);
  bpf_task_release(task);
  return 0;
}

SEC("?tp/sched/sched_process_exit")
int COUNTED_PROG(on_exit_event) {
  count_cpu_use(bpf_get_current_task_btf());
  return 0;
}

/* Lists the members that are not freed yet: the living, and zombies. */
SEC("iter/task")
int list_members(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct member member = {};
  if (!task) return 0;
  struct thread_state* state = find_of_thread(threads, task);
  if (!state) return 0;
  member.cpu_ns = task->se.sum_exec_runtime - state->cpu_ns_before;
  member.departures = departures_of(task) - state->departures_before;
  member.tid = task->pid;
  bpf_seq_write(ctx->meta->seq, &member, sizeof(member));
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
