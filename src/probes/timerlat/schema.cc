#include "kernel/features.h"
#include "probes/timerlat/probe.h"

namespace overdue {
namespace {

constexpr Field fields[] = {
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
                  "noise than is told of, 8: a program's own code was interrupted, 16: nobody saw "
                  "the thread being switched in, 32: preempt counts are not known, 64: of the "
                  "kernel's tracer: the time is the thread's own, and user_ns may be 0: not known"),
    OVERDUE_FIELD(
        timerlat_activation, noises, count, value,
        "struct timerlat_noise behind the record: what had the CPU meanwhile, newest first"),
    OVERDUE_FIELD(timerlat_activation, kernel_frames, count, stack,
                  "addresses behind those: where the CPU was when the timer's interrupt came, "
                  "innermost first"),
    OVERDUE_FIELD(timerlat_activation, interrupted_tid, tid, value, "who ran then; 0: nobody"),
    OVERDUE_FIELD(timerlat_activation, irq_preempt_count, none, value,
                  "the kernel's preempt count in the interrupt"),
    OVERDUE_FIELD(timerlat_activation, thread_preempt_count, none, value, "and at the switch"),
    OVERDUE_FIELD(timerlat_activation, interrupted, text, value, "name of who was interrupted"),
};

constexpr const Schema* schemas[] = {&timerlat_activation_schema};

Support supported(const Kernel& kernel) {
  return kernel.session({"sched_switch", "hrtimer_expire_entry"});
}

}  // namespace

const Schema timerlat_activation_schema{
    .id = RECORD_TIMERLAT,
    .name = "activation",
    .size = sizeof(timerlat_activation),
    .fields = fields,
    .help = "a real-time thread that waited for a timer ran again; the time is when"};

extern const std::string_view timerlat_manual;

const ProbeInfo timerlat_probe{
    .name = "timerlat",
    .summary = "timers and real-time threads: how late they are, and what had the CPU meanwhile",
    .manual = timerlat_manual,
    .schemas = schemas,
    .support = supported};

}  // namespace overdue
