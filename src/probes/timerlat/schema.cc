#include "kernel/features.h"
#include "probes/timerlat/probe.h"

namespace overdue {
namespace {

constexpr Field activation_fields[] = {
    OVERDUE_FIELD(timerlat_activation, id, none, value, "counts those of its CPU, from 1"),
    OVERDUE_FIELD(timerlat_activation, expires_ns, nanoseconds, value,
                  "when the timer was to expire (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(timerlat_activation, irq_ns, nanoseconds, value, "when it did"),
    OVERDUE_FIELD(timerlat_activation, user_ns, nanoseconds, value,
                  "when the thread was back in its program"),
    OVERDUE_FIELD(timerlat_activation, steal_ns, nanoseconds, value,
                  "what a hypervisor says it took of the CPU since the activation before"),
    OVERDUE_FIELD(timerlat_activation, flags, none, value,
                  "1: it was over a limit, 2: already when the interrupt came, 4: there was more "
                  "noise than is kept, 8: a program's own code was interrupted, 16: no hook saw "
                  "the thread being switched in, 32: preempt counts are not known, 64: of the "
                  "kernel's tracer: the time is the thread's own, and user_ns may be 0: not known, "
                  "128: thread_priority is known"),
    OVERDUE_FIELD(
        timerlat_activation, noises, count, value,
        "struct timerlat_noise behind the record: what had the CPU meanwhile, newest first"),
    OVERDUE_FIELD(timerlat_activation, kernel_frames, count, stack,
                  "addresses behind those: where the CPU was when the timer's interrupt came, "
                  "innermost first"),
    OVERDUE_FIELD(timerlat_activation, interrupted_tid, tid, value,
                  "the thread that ran then; 0: idle"),
    OVERDUE_FIELD(timerlat_activation, thread_priority, none, value,
                  "of SCHED_FIFO; below 1: an ordinary thread"),
    OVERDUE_FIELD(timerlat_activation, irq_preempt_count, none, value,
                  "the kernel's preempt count in the interrupt"),
    OVERDUE_FIELD(timerlat_activation, thread_preempt_count, none, value, "and at the switch"),
    OVERDUE_FIELD(timerlat_activation, interrupted, text, value, "name of who was interrupted"),
};

constexpr Field timerlat_cpu_fields[] = {
    OVERDUE_FIELD(timerlat_cpu, missed, count, value,
                  "periods without an activation: the thread was late from one before"),
    OVERDUE_FIELD(timerlat_cpu, wakings, count, value, "wake-ups of its thread"),
    OVERDUE_FIELD(timerlat_cpu, absence, none, value,
                  "why there was no activation; 1: the thread never ran, 2: no hook saw it run, 3: "
                  "no thread has read timerlat_fd, 4: the kernel's tracer wrote none"),
    OVERDUE_FIELD(timerlat_cpu, silences, count, value,
                  "stretches in which the CPU's own timer did not come, in `silence`"),
    OVERDUE_FIELD(timerlat_cpu, silence, opaque, value, "struct timerlat_silence each"),
};

constexpr const Schema* timerlat_schemas[] = {&timerlat_activation_schema, &timerlat_cpu_schema};

Support timerlat_support(const Kernel& kernel) {
  return kernel.session({"sched_switch", "hrtimer_expire_entry"});
}

}  // namespace

const Schema timerlat_activation_schema{
    .id = RECORD_TIMERLAT,
    .name = "activation",
    .size = sizeof(timerlat_activation),
    .fields = activation_fields,
    .help = "a real-time thread that waited for a timer ran again; the time is when"};

const Schema timerlat_cpu_schema{.id = RECORD_TIMERLAT_CPU,
                                 .name = "timerlat_cpu",
                                 .size = sizeof(timerlat_cpu),
                                 .fields = timerlat_cpu_fields,
                                 .help = "one CPU at the end of a session of timerlat"};

extern const std::string_view timerlat_manual;

const ProbeInfo timerlat_probe{
    .name = "timerlat",
    .summary = "timers and real-time threads: how late they are, and what had the CPU meanwhile",
    .manual = timerlat_manual,
    .schemas = timerlat_schemas,
    .support = timerlat_support};

}  // namespace overdue
