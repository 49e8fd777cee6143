/* SPDX-License-Identifier: GPL-2.0 */
/* Lists the threads of each CPU's run queue, once, when user space reads the iterator. Nothing is
 * attached. Unlike debugfs, an iterator is there on locked-down kernels and in containers. */
#include "bpf/kernel.h"

#include "kernel/run_queues_wire.h"

const volatile u8 lists_sleepers; /* also threads that are not runnable */

SEC("iter/task")
int list_queued(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  u32 state = task->on_cpu ? QUEUED_RUNNING : task->__state ? QUEUED_ASLEEP : QUEUED_RUNNABLE;
  if (state == QUEUED_ASLEEP && !lists_sleepers) return 0;
  struct queued_task record = {.tree_key_ns = task->se.vruntime,
                               .switches = task->nvcsw + task->nivcsw,
                               .pid = task->tgid,
                               .tid = task->pid,
                               .cpu = task->thread_info.cpu,
                               .prio = task->prio,
                               .state = state};
  BPF_CORE_READ_STR_INTO(&record.comm, task, comm);
  bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
