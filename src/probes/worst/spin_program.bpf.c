// SPDX-License-Identifier: GPL-2.0
// For probes_test and tests/trials: spins on a CPU, in a process of the test, for as long and as
// often as the test says. Interrupts are disabled where a timer is set, and preemption is disabled
// where a process is forked.
#include "bpf/kernel.h"
#include "bpf/unpreempted.bpf.h"

const volatile u32 spinner_pid;
const volatile u32 spin_turns; /* at most 8 million, the verifier's limit */
const volatile u64 spin_ns;
s32 spins_left;

/* Wakes a thread that sleeps for a time. Interrupts set other timers as well. */
extern const void hrtimer_wakeup __ksym __weak;

static long spin_on(u32 turn, u64* until_ns) {
  return bpf_ktime_get_ns() >= *until_ns;
}

static __always_inline int spin(void) {
  if (bpf_get_current_pid_tgid() >> 32 != spinner_pid) return 0;
  if (__sync_fetch_and_sub(&spins_left, 1) <= 0) return 0;
  u64 until_ns = bpf_ktime_get_ns() + spin_ns;
  bpf_loop(spin_turns, spin_on, &until_ns, 0);
  return 0;
}

SEC("?tp_btf/hrtimer_start")
int BPF_PROG(spin_with_interrupts_off, struct hrtimer* timer) {
  return (u64)timer->function == (u64)&hrtimer_wakeup ? spin() : 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(spin_with_preemption_off, struct task_struct* parent) {
  forbid_preemption();
  int result = spin();
  allow_preemption();
  return result;
}

char LICENSE[] SEC("license") = "GPL";
