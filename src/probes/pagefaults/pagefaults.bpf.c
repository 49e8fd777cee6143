// SPDX-License-Identifier: GPL-2.0
// Page faults of members: from the exception to the moment when the kernel counts the fault as
// minor or major, which is when the page is there. Faults that fail are not counted, there and
// here.
#include "bpf/pagefaults.h"
#include "bpf/compat.bpf.h"
#include "bpf/own_sums.bpf.h"
#include "bpf/span_stacks.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "bpf/unpreempted.bpf.h"

/* arch/x86/include/asm/trap_pf.h */
#define X86_PF_WRITE 2
#define X86_PF_INSTR 16

#define KERNEL_HALF (1ull << 63) /* addresses of the kernel have this bit */

struct open_fault {
  u64 begin_ns; /* 0: none is open */
  u64 address;
  u64 flags;
  u64 period_ns; /* see count_lone_end() */
  u64 has_sums;
  struct ledger_sums sums; /* of the thread at begin_ns */
};

/* A fault does not begin inside another fault of its thread. A fault that failed, or is tried again
 * after a signal, is replaced by the next one. */
THREAD_STORAGE(faults, LRU_HASH, struct open_fault);
static const struct open_fault no_fault;

static __always_inline int begin_fault(unsigned long address, unsigned long error_code) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (!threshold_of(SPAN_PAGEFAULT) || !member_state(task)) return 0;
  struct open_fault* fault = make_of_thread(faults, task, &no_fault);
  if (!fault) {
    count(COUNTER_TASK_STORAGE, 1);
    return 0;
  }
  fault->begin_ns = 0;
  if (!cpu_wanted()) return 0;
  fault->address = address;
  fault->flags = (error_code & X86_PF_WRITE ? PAGEFAULT_WRITE : 0) |
                 (error_code & X86_PF_INSTR ? PAGEFAULT_EXECUTE : 0);
  u64 now_ns = bpf_ktime_get_ns();
  fault->has_sums = read_own_sums(task, now_ns, &fault->sums);
  u64 begin_ns = bpf_ktime_get_ns(); /* last: the work above is not the span's time */
  fault->sums.parts.oncpu_ns += begin_ns - now_ns;
  fault->begin_ns = begin_ns;
  return 0;
}

SEC("?tp_btf/page_fault_user")
int UNPREEMPTED_PROG(on_fault_of_program, unsigned long address, struct pt_regs* regs,
                     unsigned long error_code) {
  return begin_fault(address, error_code);
}

/* A system call reads or writes memory of its caller. Where faults are disabled, the access fails
 * instead: that of a BPF program in the middle of another fault, for example. */
SEC("?tp_btf/page_fault_kernel")
int UNPREEMPTED_PROG(on_fault_of_kernel, unsigned long address, struct pt_regs* regs,
                     unsigned long error_code) {
  if (address & KERNEL_HALF || bpf_get_current_task_btf()->pagefault_disabled) return 0;
  return begin_fault(address, error_code);
}

/* What a program at a software event gets (include/uapi/linux/bpf_perf_event.h, of x86-64). */
struct event_context {
  u64 registers[21];
  u64 sample_period;
  u64 address; /* of the fault */
};

/* By a helper, as real_time_queue_of() reads. */
static __always_inline struct file* mapped_file_of(struct vm_area_struct* area) {
  return BPF_CORE_READ(area, vm_file);
}

static long note_file(struct task_struct* task, struct vm_area_struct* area,
                      struct ended_span* span) {
  struct file* file = mapped_file_of(area);
  if (!file) {
    span->detail |= PAGEFAULT_MEMORY;
    return 0;
  }
  const unsigned char* name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
  if (bpf_probe_read_kernel_str(span->text, SPAN_TEXT_SIZE, name) > 0)
    span->detail |= PAGEFAULT_FILE;
  return 0;
}

/* Before Linux 5.17 (commit 7c7e3d31e785) not known; nor while another thread changes the mappings
 * of the process. */
static __always_inline void find_file(struct task_struct* task, struct ended_span* span) {
  if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
    bpf_find_vma(task, span->subject, note_file, span, 0);
}

static __always_inline void emit_fault(void* ctx, struct open_fault* fault, u64 flags, u64 begin_ns,
                                       u64 threshold_ns) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct ended_span span = {.kind = SPAN_PAGEFAULT,
                            .now_ns = bpf_ktime_get_ns(),
                            .subject = fault->address,
                            .detail = fault->flags | flags};
  span.latency_ns = ns_between(begin_ns, span.now_ns);
  count_span(SPAN_PAGEFAULT, span.latency_ns);
  if (span.latency_ns < threshold_ns) return;
  if (!is_late_by_name(task, SPAN_PAGEFAULT, span.latency_ns)) return;
  struct ledger_sums sums;
  struct ledger_sums* parts = 0;
  if (fault->has_sums && read_own_sums(task, span.now_ns, &sums)) {
    subtract_sums(&sums, &fault->sums);
    parts = &sums;
  }
  find_file(task, &span);
  if (!user_stack_bytes || !emit_with_stacks(ctx, &span, parts, 0)) emit_with_parts(&span, parts);
}

static __always_inline int end_fault(void* ctx, u64 flags) {
  u64 threshold_ns = threshold_of(SPAN_PAGEFAULT);
  struct task_struct* task = bpf_get_current_task_btf();
  if (!threshold_ns || !member_state(task)) return 0;
  struct open_fault* fault = find_of_thread(faults, task);
  u64 begin_ns = fault ? fault->begin_ns : 0;
  if (fault) fault->begin_ns = 0;
  if (begin_ns && begin_ns >= control.since_ns[SPAN_PAGEFAULT] &&
      fault->address == ((struct event_context*)ctx)->address)
    emit_fault(ctx, fault, flags, begin_ns, threshold_ns);
  else if (fault && !cpus_limited)
    count_lone_end(&fault->period_ns, SPAN_PAGEFAULT);
  else if (!cpus_limited)
    count(COUNTER_CUT, 1);
  return 0;
}

SEC("?perf_event")
int COUNTED_PROG(minor_faults) {
  return end_fault(ctx, 0);
}

SEC("?perf_event")
int COUNTED_PROG(major_faults) {
  return end_fault(ctx, PAGEFAULT_MAJOR);
}

char LICENSE[] SEC("license") = "GPL";
