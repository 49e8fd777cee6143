#include "kernel/features.h"
#include "probes/worst/probe.h"

namespace overdue {
namespace {

constexpr Field window_fields[] = {
    OVERDUE_FIELD(worst_window, begin_ns, nanoseconds, value,
                  "when it was woken (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(worst_window, queued_ns, nanoseconds, value,
                  "when it entered a run queue; 0: not seen"),
    OVERDUE_FIELD(worst_window, latency_ns, nanoseconds, duration,
                  "from being woken to just before it runs"),
    OVERDUE_FIELD(worst_window, serial, count, value,
                  "number of the wake-up among those that were followed"),
    OVERDUE_FIELD(worst_window, waker_pid, pid, value, "process of waker_tid"),
    OVERDUE_FIELD(worst_window, waker_tid, tid, value,
                  "who woke it; in an interrupt: who was interrupted"),
    OVERDUE_FIELD(worst_window, waker_comm, text, value, "name of waker_tid"),
    OVERDUE_FIELD(worst_window, waker_cpu, cpu, value, "where it was woken from"),
    OVERDUE_FIELD(worst_window, queued_cpu, cpu, value, "whose run queue it came into"),
    OVERDUE_FIELD(worst_window, uid, none, value, "user of the woken thread"),
    OVERDUE_FIELD(worst_window, policy, none, value,
                  "0: other, 1: FIFO, 2: round robin, 3: batch, 5: idle, 6: deadline"),
    OVERDUE_FIELD(worst_window, rt_priority, none, value, "1 to 99 of a real-time policy"),
    OVERDUE_FIELD(worst_window, static_prio, none, value, "nice value plus 120"),
    OVERDUE_FIELD(worst_window, prio, none, value,
                  "as the kernel counts, 0 is the most important; 65535: a deadline"),
    OVERDUE_FIELD(worst_window, events, count, value, "worst_event records that follow"),
    OVERDUE_FIELD(worst_window, lost_events, count, value, "events within it beyond those"),
    OVERDUE_FIELD(worst_window, tracer, none, key,
                  "1: wakeup, 2: wakeup_rt, 3: wakeup_dl, 4: irqsoff, 5: preemptoff, "
                  "6: preemptirqsoff"),
    OVERDUE_FIELD(worst_window, waking_frames, count, stack,
                  "addresses behind the record: where the waker was, innermost first"),
    OVERDUE_FIELD(worst_window, end_frames, count, stack,
                  "addresses behind those: where its CPU switched to it"),
    OVERDUE_FIELD(
        worst_window, bound, none, key,
        "0: that long; at least that long, known by 1: a late timer, 2: a late switch, 3: the "
        "one and then the other"),
};

constexpr Field event_fields[] = {
    OVERDUE_FIELD(
        worst_event, event, none, key,
        "1: switch, 2: waking, 3: wake-up, 4: first wake-up, 5: migration, 6, 7: interrupt "
        "of a device, 8, 9: vector, 10, 11: soft interrupt, 12: need to reschedule"),
    OVERDUE_FIELD(worst_event, number, none, value,
                  "CPU of the wake-up or migration; interrupt, vector, soft interrupt"),
    OVERDUE_FIELD(worst_event, other_tid, tid, value, "who is switched to, woken, moved"),
    OVERDUE_FIELD(worst_event, preempt_count, none, value, "the kernel's, where flag 1 is set"),
    OVERDUE_FIELD(worst_event, thread_flags, none, value, "thread_info::flags of who ran"),
    OVERDUE_FIELD(worst_event, flags, none, value, "1: preempt_count is known"),
    OVERDUE_FIELD(worst_event, prio, none, value, "of who ran, as the kernel counts"),
    OVERDUE_FIELD(worst_event, other_prio, none, value, "of the other thread"),
    OVERDUE_FIELD(worst_event, state, none, value,
                  "switch: task state of who leaves; an interrupt: whether it was handled"),
    OVERDUE_FIELD(worst_event, other_comm, text, value,
                  "name of the other thread, or the interrupt"),
};

constexpr const Schema* worst_schemas[] = {&worst_window_schema, &worst_event_schema,
                                           &tracer_text_schema};

Support worst_support(const Kernel& kernel) {
  return kernel.session(
      {"sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task"});
}

}  // namespace

const Schema worst_window_schema{.id = RECORD_WORST_WINDOW,
                                 .name = "worst_window",
                                 .size = sizeof(worst_window),
                                 .fields = window_fields,
                                 .help = "one of the longest latencies of a kind"};
const Schema worst_event_schema{.id = RECORD_WORST_EVENT,
                                .name = "worst_event",
                                .size = sizeof(worst_event),
                                .fields = event_fields,
                                .help = "what happened within the worst_window before it"};

const Schema tracer_text_schema{.id = RECORD_TRACER_TEXT,
                                .name = "tracer_text",
                                .size = sizeof(tracer_text),
                                .fields = {},
                                .help = "a piece of what the kernel's own tracer wrote"};

extern const std::string_view worst_manual;

const ProbeInfo worst_probe{
    .name = "worst",
    .summary = "the longest wake-ups of the most important thread, and what happened meanwhile",
    .manual = worst_manual,
    .schemas = worst_schemas,
    .support = worst_support};

}  // namespace overdue
