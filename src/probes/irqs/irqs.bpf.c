// SPDX-License-Identifier: GPL-2.0
// Interrupts: handlers of devices, softirqs from their raise to their end, and local interrupts.
// All state is per CPU: none of these nests in its own kind.
#include "bpf/span.bpf.h"

#define SOFTIRQS 16 /* there are ten; the next power of two */

/* include/linux/interrupt.h; sized for one copy of fixed length */
static const char softirq_names[SOFTIRQS][SPAN_TEXT_SIZE] = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};

struct softirq_raise {
  struct open_span by; /* begin_ns 0: not raised */
  u64 by_member;
};

struct cpu_interrupts {
  struct cpu_span irq;
  struct cpu_span softirq;
  struct cpu_span vector;
  struct softirq_raise raised[SOFTIRQS];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_interrupts);
} interrupts SEC(".maps");

static __always_inline struct cpu_interrupts* this_cpu(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&interrupts, &zero);
}

SEC("?tp_btf/irq_handler_entry")
int COUNTED_PROG(on_irq_entry, int irq, struct irqaction* action) {
  struct cpu_interrupts* cpu = threshold_of(SPAN_IRQ) ? this_cpu() : 0;
  if (cpu) cpu->irq.begin_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/irq_handler_exit")
int COUNTED_PROG(on_irq_exit, int irq, struct irqaction* action, int ret) {
  u64 threshold_ns = threshold_of(SPAN_IRQ);
  struct cpu_interrupts* cpu = threshold_ns ? this_cpu() : 0;
  if (!cpu) return 0;
  struct ended_span span = {.kind = SPAN_IRQ, .subject = irq, .detail = ret};
  if (!end_on_cpu(&cpu->irq, SPAN_IRQ, threshold_ns, &span)) return 0;
  bpf_probe_read_kernel_str(span.text, sizeof(span.text), action->name);
  emit_span_with_stack(ctx, &span);
  return 0;
}

/* The verifier must see the bound, which the compiler would drop as known. */
static __always_inline u32 softirq_index(u32 vector) {
  barrier_var(vector);
  return vector & (SOFTIRQS - 1);
}

static __always_inline void report_softirq(void* ctx, struct ended_span* span, u32 vector) {
  span->subject = vector;
  __builtin_memcpy(span->text, softirq_names[softirq_index(vector)], SPAN_TEXT_SIZE);
  emit_span_with_stack(ctx, span);
}

SEC("?tp_btf/softirq_raise")
int COUNTED_PROG(on_softirq_raise, u32 vector) {
  if (!threshold_of(SPAN_SOFTIRQ_RAISE)) return 0;
  struct cpu_interrupts* cpu = this_cpu();
  if (!cpu) return 0;
  struct softirq_raise* raised = &cpu->raised[softirq_index(vector)];
  if (raised->by.begin_ns > control.since_ns[SPAN_SOFTIRQ_RAISE]) return 0; /* still raised */
  begin_span(&raised->by);
  raised->by_member = whole_machine || member_state(bpf_get_current_task_btf());
  return 0;
}

/* A softirq that was raised without the tracepoint, as the kernel sometimes does, is no span. */
static __always_inline void end_raise(void* ctx, struct softirq_raise* raised, u32 vector,
                                      u64 threshold_ns) {
  struct ended_span span = {.kind = SPAN_SOFTIRQ_RAISE};
  if (raised->by.begin_ns <= control.since_ns[SPAN_SOFTIRQ_RAISE]) return;
  end_span(&span, &raised->by);
  raised->by.begin_ns = 0;
  if (!(raised->by_member && cpu_wanted()) && !counts_here()) return;
  count_span(SPAN_SOFTIRQ_RAISE, span.latency_ns);
  if (span.latency_ns >= threshold_ns) report_softirq(ctx, &span, vector);
}

SEC("?tp_btf/softirq_entry")
int COUNTED_PROG(on_softirq_entry, u32 vector) {
  u64 raise_ns = threshold_of(SPAN_SOFTIRQ_RAISE), threshold_ns = threshold_of(SPAN_SOFTIRQ);
  struct cpu_interrupts* cpu = raise_ns || threshold_ns ? this_cpu() : 0;
  if (!cpu) return 0;
  if (raise_ns) end_raise(ctx, &cpu->raised[softirq_index(vector)], vector, raise_ns);
  if (threshold_ns) cpu->softirq.begin_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/softirq_exit")
int COUNTED_PROG(on_softirq_exit, u32 vector) {
  u64 threshold_ns = threshold_of(SPAN_SOFTIRQ);
  struct cpu_interrupts* cpu = threshold_ns ? this_cpu() : 0;
  if (!cpu) return 0;
  struct ended_span span = {.kind = SPAN_SOFTIRQ};
  if (end_on_cpu(&cpu->softirq, SPAN_SOFTIRQ, threshold_ns, &span))
    report_softirq(ctx, &span, vector);
  return 0;
}

static __always_inline int begin_vector(void) {
  struct cpu_interrupts* cpu = threshold_of(SPAN_VECTOR) ? this_cpu() : 0;
  if (cpu) cpu->vector.begin_ns = bpf_ktime_get_ns();
  return 0;
}

/* Each local interrupt has its own tracepoints, which give its name: numbers differ between
 * kernels. */
#define VECTOR(name)                                                                  \
  SEC("?tp_btf/" #name "_entry") int COUNTED_PROG(on_##name, int vector) {            \
    return begin_vector();                                                            \
  }                                                                                   \
  SEC("?tp_btf/" #name "_exit") int COUNTED_PROG(end_##name, int vector) {            \
    u64 threshold_ns = threshold_of(SPAN_VECTOR);                                     \
    struct cpu_interrupts* cpu = threshold_ns ? this_cpu() : 0;                       \
    if (!cpu) return 0;                                                               \
    struct ended_span span = {.kind = SPAN_VECTOR, .subject = vector, .text = #name}; \
    if (end_on_cpu(&cpu->vector, SPAN_VECTOR, threshold_ns, &span))                   \
      emit_span_with_stack(ctx, &span);                                               \
    return 0;                                                                         \
  }

VECTOR(local_timer)
VECTOR(reschedule)
VECTOR(call_function)
VECTOR(call_function_single)
VECTOR(irq_work)
VECTOR(x86_platform_ipi)
VECTOR(thermal_apic)
VECTOR(threshold_apic)
VECTOR(deferred_error_apic)
VECTOR(error_apic)
VECTOR(spurious_apic)

char LICENSE[] SEC("license") = "GPL";
