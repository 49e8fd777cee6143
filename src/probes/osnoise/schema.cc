#include "kernel/features.h"
#include "probes/osnoise/probe.h"

namespace overdue {
namespace {

constexpr Field gap_fields[] = {
    OVERDUE_FIELD(osnoise_gap, begin_ns, nanoseconds, value, "its begin (CLOCK_MONOTONIC)"),
    OVERDUE_FIELD(osnoise_gap, noise_ns, nanoseconds, duration, "how long it was"),
    OVERDUE_FIELD(osnoise_gap, interferences, count, value,
                  "interrupts, soft interrupts, NMIs and threads that had the CPU; 0: it was "
                  "hardware, or a hypervisor"),
    OVERDUE_FIELD(osnoise_gap, noises, count, value,
                  "struct timerlat_noise behind the record: those, oldest first"),
    OVERDUE_FIELD(osnoise_gap, flags, none, value,
                  "1: it ended the run, 2: there was more noise than is kept, 4: another thread "
                  "ran and no switch was reported, 8: between the two looks of a pair"),
};

constexpr Field osnoise_sample_fields[] = {
    OVERDUE_FIELD(osnoise_sample, runtime_ns, nanoseconds, value, "for how long the thread looked"),
    OVERDUE_FIELD(osnoise_sample, noise_ns, nanoseconds, duration, "of that, noise"),
    OVERDUE_FIELD(osnoise_sample, max_ns, nanoseconds, value, "the longest single noise"),
    OVERDUE_FIELD(osnoise_sample, inner_ns, nanoseconds, value,
                  "the longest below the threshold that nothing interfered with, within a pair of "
                  "looks"),
    OVERDUE_FIELD(osnoise_sample, outer_ns, nanoseconds, value, "likewise, between pairs"),
    OVERDUE_FIELD(osnoise_sample, hw, count, value,
                  "noises without interference: hardware, or a hypervisor"),
    OVERDUE_FIELD(osnoise_sample, nmi, count, value, "NMIs, in noise of any length"),
    OVERDUE_FIELD(osnoise_sample, irq, count, value, "interrupts"),
    OVERDUE_FIELD(osnoise_sample, softirq, count, value, "soft interrupts"),
    OVERDUE_FIELD(osnoise_sample, thread, count, value, "times another thread ran"),
    OVERDUE_FIELD(osnoise_sample, flags, none, value, "1: it ended the run"),
};

constexpr const Schema* osnoise_schemas[] = {&osnoise_gap_schema, &osnoise_sample_schema};

Support osnoise_support(const Kernel& kernel) {
  return kernel.session({"sched_switch", "irq_handler_entry"});
}

}  // namespace

const Schema osnoise_gap_schema{.id = RECORD_OSNOISE_GAP,
                                .name = "noise",
                                .size = sizeof(osnoise_gap),
                                .fields = gap_fields,
                                .help = "a noise of a busy thread; the time is its end"};
const Schema osnoise_sample_schema{.id = RECORD_OSNOISE_SAMPLE,
                                   .name = "noise_sample",
                                   .size = sizeof(osnoise_sample),
                                   .fields = osnoise_sample_fields,
                                   .help = "a period of a busy thread"};

extern const std::string_view osnoise_manual;

const ProbeInfo osnoise_probe{.name = "osnoise",
                              .summary = "noise of busy threads: what takes CPU time from them",
                              .manual = osnoise_manual,
                              .schemas = osnoise_schemas,
                              .support = osnoise_support};

}  // namespace overdue
