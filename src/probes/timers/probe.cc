#include "probes/timers/probe.h"

#include "core/span_schema.h"
#include "timers.skel.h"

namespace overdue {
namespace {

constexpr SpanHook hooks[] = {
    {"hrtimer_start", kinds_of({SPAN_TIMER})},
    {"hrtimer_expire_entry", kinds_of({SPAN_TIMER})},
};

void choose_expiry(Skeleton<timers_bpf>& bpf, bool by_member) {
  for (const auto& [program, wanted] : {std::pair{bpf->progs.on_hrtimer_expire, !by_member},
                                        {bpf->progs.on_members_expire, by_member}})
    bpf_program__set_autoload(program, bpf_program__autoload(program) && wanted);
}

std::unique_ptr<SpanProbe> make(const SpanOptions& options, const SharedMaps& shared,
                                const Kernel& kernel) {
  // Linux has bpf_task_from_pid() since 6.2.
  return std::make_unique<SpanProbeOf<timers_bpf>>(
      SpanParts{"timers", hooks, {}}, options, shared, kernel, [&](Skeleton<timers_bpf>& bpf) {
        choose_expiry(bpf, !options.whole_machine &&
                               bpf.can_call(kernel.types(), "bpf_task_from_pid") &&
                               bpf.can_call(kernel.types(), "bpf_task_release"));
      });
}

Support supported(const Kernel& kernel) {
  return any_span_support(kernel, hooks);
}

}  // namespace

extern const std::string_view timers_manual;

const ProbeInfo timers_probe{
    .name = "timers",
    .summary = "timers: how late they expire, and whose sleep that prolongs",
    .manual = timers_manual,
    .schemas = span_schemas,
    .support = supported};
const SpanSource timers_spans{.info = &timers_probe, .hooks = hooks, .make = make};

}  // namespace overdue
