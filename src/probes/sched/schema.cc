#include "core/origin_fields.h"
#include "core/socket_schema.h"
#include "core/span_schema.h"
#include "kernel/features.h"
#include "probes/sched/probe.h"

namespace overdue {
namespace {

constexpr Field wait_fields[] = {
    OVERDUE_FIELD(sched_wait, out_ns, nanoseconds, value,
                  "when the thread left the CPU (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(sched_wait, wake_ns, nanoseconds, value,
                  "when it was woken; 0: it was not asleep, or the wake-up was not seen"),
    OVERDUE_FIELD(sched_wait, state, none, key,
                  "1: preempted, 2: sleeping, 3: uninterruptible, "
                  "4: stopped, traced, or not seen from its begin, 5: throttled, "
                  "6: runnable, yet its CPU idled"),
    OVERDUE_FIELD(sched_wait, waker_tid, tid, value,
                  "who woke it; in an interrupt: who was interrupted"),
    OVERDUE_FIELD(sched_wait, waker_context, none, value,
                  "1: a thread, 2: a soft interrupt, 3: a device's interrupt, 4: a CPU's vector"),
    OVERDUE_FIELD(sched_wait, waker_number, none, value, "number of that interrupt"),
    OVERDUE_FIELD(sched_wait, flags, none, value,
                  "1: the thread belongs to the target; 2: a wait_stack of it follows; "
                  "8: ended in a pause or with the session, and is no span of its own"),
    OVERDUE_FIELD(sched_wait, kernel_frames, count, stack,
                  "addresses behind the record: where it waited, innermost first"),
    OVERDUE_FIELD(sched_wait, displacer_tid, tid, value,
                  "preempted: thread that took the CPU; stopped: tracer"),
    OVERDUE_FIELD(sched_wait, behind_tid, tid, value,
                  "the thread that ran on its CPU just before it; 0: idle"),
    OVERDUE_FIELD(sched_wait, displacer, text, value, "name of the displacer"),
    OVERDUE_FIELD(sched_wait, behind, text, value, "name of who ran before"),
    OVERDUE_FIELD(sched_wait, waker_pid, pid, value, "process of waker_tid; 0: it had ended"),
    OVERDUE_FIELD(sched_wait, waker, text, value, "name of waker_tid"),
    OVERDUE_FIELD(sched_wait, throttled_ns, nanoseconds, value,
                  "of the time in which it could run: a quota kept it from running"),
    OVERDUE_FIELD(sched_wait, behind_ns, nanoseconds, value,
                  "how long behind_tid ran while the thread could"),
    OVERDUE_FIELD(sched_wait, sums, opaque, value,
                  "of the thread, until the end of the wait: parts as those of a span"),
    OVERDUE_FIELD(sched_wait, throttled_sum_ns, nanoseconds, value, "likewise throttled"),
    OVERDUE_FIELD(sched_wait, place, opaque, value,
                  "equal for the waits of a call in one place; 0: not in a late call"),
    OVERDUE_FIELD(sched_wait, call, none, value,
                  "of a member: number of its last call, and 1, if that had ended; or 0"),
    OVERDUE_FIELD(sched_wait, call_ns, nanoseconds, value, "when that call began"),
};

constexpr Field places_fields[] = {
    OVERDUE_FIELD(wait_places, call_ns, nanoseconds, value,
                  "when the call began (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(wait_places, others_ns, nanoseconds, value,
                  "waits in places that the record has no room for"),
    OVERDUE_FIELD(wait_places, places, opaque, value,
                  "8 of 40 bytes: place:u64 ns:u64 ready_ns:u64 longest_ns:u64 count:u32 "
                  "state:u32; one of place 0 ends them"),
};

constexpr Field runs_fields[] = {
    OVERDUE_FIELD(sched_runs, others_ns, nanoseconds, value,
                  "how long threads ran that the record has no room for"),
    OVERDUE_FIELD(sched_runs, runs, opaque, value,
                  "8 of 32 bytes: ns:u64 tid:u32 reserved:u32 comm:16; one of 0 ns ends them"),
};

constexpr Field stop_fields[] = {
    OVERDUE_FIELD(stop_signal, target_pid, pid, key, "the process that the signal stops"),
    OVERDUE_FIELD(stop_signal, signal, none, value, "its number"),
    OVERDUE_FIELD(stop_signal, is_from_kernel, none, value,
                  "1: the kernel has sent it, and met the thread by chance"),
};

constexpr Field wake_fields[] = {
    OVERDUE_FIELD(sched_wake, out_ns, nanoseconds, value,
                  "when the woken thread had left the CPU (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(sched_wake, wakee_tid, tid, key, "who is woken"),
    OVERDUE_FIELD(sched_wake, context, none, value,
                  "1: a thread, 2: a soft interrupt, 3: a device's interrupt, 4: a CPU's vector"),
    OVERDUE_FIELD(sched_wake, number, none, value, "number of that interrupt"),
    OVERDUE_FIELD(sched_wake, kernel_frames, count, stack,
                  "addresses behind the record: where the waker was, innermost first"),
    OVERDUE_FIELD(sched_wake, irq_name, text, value, "name of a device's interrupt"),
    OVERDUE_FIELD(sched_wake, sums, opaque, value,
                  "of the thread that runs, until now: parts as those of a span"),
    OVERDUE_FIELD(sched_wake, throttled_sum_ns, nanoseconds, value, "likewise throttled"),
    OVERDUE_FIELD(sched_wake, ran_since_ns, nanoseconds, value,
                  "since when that thread runs; 0: in a hard interrupt"),
    OVERDUE_FIELD(sched_wake, disk, text, value, "whose request the interrupt has completed"),
};

constexpr Field sched_stack_fields[] = {
    OVERDUE_FIELD(wait_stack, since_ns, nanoseconds, value,
                  "of this thread's waits with flag 2 that ended from then on (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(wait_stack, flags, opaque, value, "as those of a span"),
    OVERDUE_FIELD(wait_stack, user_bytes, bytes, stack, "user stack behind the record"),
    OVERDUE_FIELD(wait_stack, arguments, opaque, value,
                  "6 of 8 bytes: of the system call that the thread was in, or came from"),
};

constexpr Field sched_sample_fields[] = {
    OVERDUE_FIELD(cpu_sample, kernel_frames, none, value, "of `kernel`"),
    OVERDUE_FIELD(cpu_sample, flags, opaque, value, "as those of a span"),
    OVERDUE_FIELD(cpu_sample, user_bytes, bytes, stack, "user stack behind the record"),
    OVERDUE_FIELD(cpu_sample, reason, none, value,
                  "0: a tick met the thread, or an interrupt took it out of its program; 1: it "
                  "woke another"),
    OVERDUE_FIELD(cpu_sample, kernel, opaque, value,
                  "16 addresses, innermost first: the tick's own, then what it interrupted"),
};

#define NS_FIELD(name, offset, help)                                \
  Field {                                                           \
    name, offset, sizeof(u64), Unit::nanoseconds, Role::value, help \
  }
#define SUM_FIELD(type, member, help) NS_FIELD(#member, offsetof(type, sums.member), help)
#define REASON_FIELD(name, reason, help) \
  NS_FIELD(name, offsetof(offcpu_thread, reason_ns) + sizeof(u64) * (reason), help)

constexpr Field thread_fields[] = {
    OVERDUE_FIELD(offcpu_thread, since_ns, nanoseconds, value,
                  "when counting began (CLOCK_MONOTONIC)"),
    SUM_FIELD(offcpu_thread, oncpu_ns, "time on the CPU since then, interrupts included"),
    SUM_FIELD(offcpu_thread, sleeping_ns, "time asleep until a wake-up, and stopped"),
    SUM_FIELD(offcpu_thread, uninterruptible_ns, "uninterruptible sleep until a wake-up"),
    SUM_FIELD(offcpu_thread, runqueue_ns, "time from a wake-up to the CPU, without throttled time"),
    SUM_FIELD(offcpu_thread, preempted_ns,
              "time off the CPU though runnable throughout, without throttled time"),
    SUM_FIELD(offcpu_thread, throttled_ns,
              "time in which a CPU quota or the limit of real-time threads kept it from running"),
    OVERDUE_FIELD(offcpu_thread, waits, count, value, "ended waits"),
    OVERDUE_FIELD(offcpu_thread, preemptions, count, value,
                  "of these, waits that began when another thread displaced it"),
    OVERDUE_FIELD(offcpu_thread, longest_ns, nanoseconds, duration,
                  "longest wait that has ended since the thread's last record"),
    OVERDUE_FIELD(offcpu_thread, open_ns, nanoseconds, value,
                  "age of the present wait; 0: the thread runs, or has ended"),
    OVERDUE_FIELD(offcpu_thread, open_state, none, value, "of the present wait, as that of a wait"),
    OVERDUE_FIELD(offcpu_thread, number, none, key,
                  "the thread among all of the session; 0: it has not run yet"),
    OVERDUE_FIELD(offcpu_thread, flags, none, value, "1: the thread has ended or left the target"),
    REASON_FIELD("other_ns", REASON_OTHER, "blocked for what no field below has"),
    REASON_FIELD("disk_ns", REASON_DISK, "blocked for a disk"),
    REASON_FIELD("fault_ns", REASON_FAULT, "blocked for a disk in a page fault"),
    REASON_FIELD("futex_ns", REASON_FUTEX, "blocked for a lock or a condition"),
    REASON_FIELD("events_ns", REASON_EVENTS, "blocked for one of several descriptors"),
    REASON_FIELD("input_ns", REASON_INPUT, "blocked for input of one descriptor"),
    REASON_FIELD("output_ns", REASON_OUTPUT, "blocked for room for output"),
    REASON_FIELD("sleep_ns", REASON_SLEEP, "asleep for a time"),
    REASON_FIELD("child_ns", REASON_CHILD, "blocked for a child or a signal"),
    REASON_FIELD("stopped_ns", REASON_STOPPED, "stopped, traced or frozen"),
    ORIGIN_FIELDS(offcpu_thread),
    OVERDUE_FIELD(offcpu_thread, lock_ns, nanoseconds, value, "blocked for a lock of a file"),
};

constexpr Field displacer_fields[] = {
    OVERDUE_FIELD(offcpu_displacer, count, count, value, "times that the thread waited for it"),
    OVERDUE_FIELD(offcpu_displacer, total_ns, nanoseconds, duration,
                  "waited for it, as `how` says"),
    OVERDUE_FIELD(offcpu_displacer, max_ns, nanoseconds, value, "the longest of these times"),
    OVERDUE_FIELD(offcpu_displacer, number, none, key, "the waiting thread, as in offcpu_thread"),
    OVERDUE_FIELD(offcpu_displacer, displacer_tid, tid, key, "thread that had the CPU"),
    OVERDUE_FIELD(offcpu_displacer, displacer, text, value, "its name"),
    OVERDUE_FIELD(
        offcpu_displacer, how, none, key,
        "0: it displaced the thread, which waited until it had a CPU again; 1: it had the "
        "CPU while the woken thread waited"),
};

constexpr Field sched_cpu_fields[] = {
    SUM_FIELD(offcpu_cpu, oncpu_ns, "time of the target's threads on the CPU"),
    SUM_FIELD(offcpu_cpu, sleeping_ns, "time asleep of threads that had left it, and stopped"),
    SUM_FIELD(offcpu_cpu, uninterruptible_ns, "uninterruptible sleep of these"),
    SUM_FIELD(offcpu_cpu, runqueue_ns, "time of these from a wake-up to a CPU"),
    SUM_FIELD(offcpu_cpu, preempted_ns, "time of these off the CPU though runnable throughout"),
    SUM_FIELD(offcpu_cpu, throttled_ns, "time in which a limit kept these from running"),
    OVERDUE_FIELD(offcpu_cpu, waits, count, value, "ended waits of threads that had left it"),
    OVERDUE_FIELD(offcpu_cpu, preemptions, count, value,
                  "of these, waits that began when another thread displaced the thread"),
    OVERDUE_FIELD(offcpu_cpu, longest_ns, nanoseconds, duration,
                  "longest wait that has ended since the CPU's last record"),
    OVERDUE_FIELD(offcpu_cpu, open_ns, nanoseconds, value,
                  "age of the longest wait in progress; 0: there is none"),
};

constexpr const Schema* sched_schemas[] = {
    &sched_wait_schema,  &sched_wake_schema,   &sched_throttle_schema, &sched_runs_schema,
    &wait_places_schema, &wait_stack_schema,   &cpu_sample_schema,     &stop_signal_schema,
    &span_schema,        &span_sum_schema,     &offcpu_thread_schema,  &offcpu_displacer_schema,
    &offcpu_cpu_schema,  &socket_queue_schema, &softnet_schema};

Support sched_support(const Kernel& kernel) {
  return kernel.session({"sched_switch", "sched_waking"});
}

}  // namespace

const Schema sched_wait_schema{.id = RECORD_SCHED_WAIT,
                               .name = "wait",
                               .size = sizeof(sched_wait),
                               .fields = wait_fields,
                               .help = "a thread that was off the CPU for long runs again"};
const Schema sched_wake_schema{.id = RECORD_SCHED_WAKE,
                               .name = "wake",
                               .size = sizeof(sched_wake),
                               .fields = wake_fields,
                               .help = "a thread that had slept for long is woken"};
const Schema sched_runs_schema{
    .id = RECORD_SCHED_RUNS,
    .name = "runs",
    .size = sizeof(sched_runs),
    .fields = runs_fields,
    .help = "who ran while a thread could run that runs again, or is moved to another CPU"};
const Schema wait_places_schema{.id = RECORD_WAIT_PLACES,
                                .name = "wait_places",
                                .size = sizeof(wait_places),
                                .fields = places_fields,
                                .help = "the short waits of a late call, by place"};
const Schema wait_stack_schema{.id = RECORD_WAIT_STACK,
                               .name = "wait_stack",
                               .size = sizeof(wait_stack),
                               .fields = sched_stack_fields,
                               .help = "where in its program a thread was when it waited"};

const Schema stop_signal_schema{.id = RECORD_STOP_SIGNAL,
                                .name = "stop_signal",
                                .size = sizeof(stop_signal),
                                .fields = stop_fields,
                                .help = "a thread has sent a signal that stops a process"};
const Schema cpu_sample_schema{.id = RECORD_CPU_SAMPLE,
                               .name = "cpu_sample",
                               .size = sizeof(cpu_sample),
                               .fields = sched_sample_fields,
                               .help = "where a thread was when its CPU's tick came"};

const Schema offcpu_thread_schema{.id = RECORD_OFFCPU_THREAD,
                                  .name = "offcpu_thread",
                                  .size = sizeof(offcpu_thread),
                                  .fields = thread_fields,
                                  .help = "where a thread was since counting began"};
const Schema offcpu_displacer_schema{
    .id = RECORD_OFFCPU_DISPLACER,
    .name = "offcpu_displacer",
    .size = sizeof(offcpu_displacer),
    .fields = displacer_fields,
    .help = "the times that one thread displaced another, since the last such record"};

const Schema offcpu_cpu_schema{.id = RECORD_OFFCPU_CPU,
                               .name = "offcpu_cpu",
                               .size = sizeof(offcpu_cpu),
                               .fields = sched_cpu_fields,
                               .help = "where the threads were that left a CPU"};

extern const std::string_view sched_manual;

const ProbeInfo sched_probe{
    .name = "sched",
    .summary = "what threads spend their time on, long waits, and who ended them",
    .manual = sched_manual,
    .schemas = sched_schemas,
    .support = sched_support};

}  // namespace overdue
