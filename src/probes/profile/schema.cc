#include "core/origin_fields.h"
#include "kernel/features.h"
#include "probes/profile/probe.h"

namespace overdue {
namespace {

constexpr Field profile_sample_fields[] = {
    OVERDUE_FIELD(profile_sample, process, text, value, "name of the process: of its first thread"),
    OVERDUE_FIELD(profile_sample, kernel_frames, count, stack,
                  "addresses behind the record: where the kernel was interrupted, innermost first; "
                  "0: the program was"),
    OVERDUE_FIELD(profile_sample, flags, opaque, value, "as those of a span"),
    OVERDUE_FIELD(profile_sample, user_bytes, bytes, stack, "user stack behind that"),
    ORIGIN_FIELDS(profile_sample),
};

constexpr Field profile_cpu_fields[] = {
    OVERDUE_FIELD(profile_cpu, samples, count, value,
                  "events in threads of the target, lost samples included"),
    OVERDUE_FIELD(profile_cpu, idle, count, value, "events while the CPU idled"),
    OVERDUE_FIELD(profile_cpu, others, count, value, "events in other threads"),
    OVERDUE_FIELD(profile_cpu, rate_hz, none, value, "events of a second, as asked for"),
    OVERDUE_FIELD(profile_cpu, event, none, value, "1: the CPU's timer (cpu-clock), 2: its cycles"),
};

constexpr const Schema* profile_schemas[] = {&profile_sample_schema, &profile_cpu_schema};

Support profile_support(const Kernel& kernel) {
  if (Support support = kernel.session(); !support.yes) return support;
  return kernel.cpu_clock();
}

}  // namespace

const Schema profile_sample_schema{.id = RECORD_PROFILE_SAMPLE,
                                   .name = "profile_sample",
                                   .size = sizeof(profile_sample),
                                   .fields = profile_sample_fields,
                                   .help = "where a thread was when its CPU was sampled"};
const Schema profile_cpu_schema{.id = RECORD_PROFILE_CPU,
                                .name = "profile_cpu",
                                .size = sizeof(profile_cpu),
                                .fields = profile_cpu_fields,
                                .help = "what a CPU did whenever it was sampled"};

extern const std::string_view profile_manual;

const ProbeInfo profile_probe{.name = "profile",
                              .summary = "where threads spend CPU time, by samples",
                              .manual = profile_manual,
                              .schemas = profile_schemas,
                              .support = profile_support};

}  // namespace overdue
