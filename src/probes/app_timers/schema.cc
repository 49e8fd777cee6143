#include "kernel/features.h"
#include "probes/app_timers/probe.h"

namespace overdue {
namespace {

constexpr Field app_timer_fields[] = {
    OVERDUE_FIELD(app_timer, expires_ns, nanoseconds, value,
                  "the moment the program asked for (CLOCK_MONOTONIC), or when it asked, if that "
                  "was later"),
    OVERDUE_FIELD(app_timer, slack_ns, nanoseconds, value,
                  "how much later the kernel was allowed to be"),
    OVERDUE_FIELD(app_timer, irq_ns, nanoseconds, value, "when the timer expired"),
    OVERDUE_FIELD(app_timer, wake_ns, nanoseconds, value, "when the thread was woken"),
    OVERDUE_FIELD(app_timer, run_ns, nanoseconds, value, "when it was switched in"),
    OVERDUE_FIELD(app_timer, function, opaque, key, "the timer's function in the kernel"),
    OVERDUE_FIELD(app_timer, nr, none, key, "the system call that waited; 4294967295: not known"),
    OVERDUE_FIELD(
        app_timer, flags, none, value,
        "1: the thread had not gone to sleep yet; 2: nr is of the 32-bit ABI; 4: a CPU quota "
        "kept the thread behind the end of its call"),
    OVERDUE_FIELD(app_timer, timer_cpu, cpu, value, "where the timer expired"),
    OVERDUE_FIELD(app_timer, interrupted_tid, tid, value, "the thread that ran there; 0: idle"),
    OVERDUE_FIELD(app_timer, behind_tid, tid, value,
                  "the thread that ran on its CPU just before it; 0: idle"),
    OVERDUE_FIELD(app_timer, kernel_frames, count, stack,
                  "addresses behind the record: where the CPU was when the interrupt came, "
                  "innermost first"),
    OVERDUE_FIELD(app_timer, interrupted, text, value, "name of interrupted_tid"),
    OVERDUE_FIELD(app_timer, behind, text, value, "name of behind_tid"),
    OVERDUE_FIELD(app_timer, throttled_ns, nanoseconds, value,
                  "a CPU quota kept the thread from running, or, with flag 4, from its program"),
    OVERDUE_FIELD(app_timer, behind_ns, nanoseconds, value,
                  "how long behind_tid had the CPU while the thread could have"),
};

constexpr const Schema* app_timer_schemas[] = {&app_timer_schema};

Support app_timer_support(const Kernel& kernel) {
  return kernel.session({"hrtimer_start", "hrtimer_expire_entry", "hrtimer_expire_exit",
                         "sched_waking", "sched_switch", "sys_exit"});
}

}  // namespace

const Schema app_timer_schema{.id = RECORD_APP_TIMER,
                              .name = "app_timer",
                              .size = sizeof(app_timer),
                              .fields = app_timer_fields,
                              .help = "a thread was woken by a timer of its own, and is back"};

extern const std::string_view app_timers_manual;

const ProbeInfo app_timers_probe{
    .name = "app_timers",
    .summary = "timers that programs wait for: how late they, and the threads, are",
    .manual = app_timers_manual,
    .schemas = app_timer_schemas,
    .support = app_timer_support};

}  // namespace overdue
