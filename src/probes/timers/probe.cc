#include "kernel/span_probe.h"

#include "core/span_schema.h"
#include "timers.skel.h"

namespace overdue {
namespace {

constexpr SpanHook timer_hooks[] = {
    {"hrtimer_start", kinds_of({SPAN_TIMER})},
    {"hrtimer_expire_entry", kinds_of({SPAN_TIMER})},
};

void choose_expiry(Skeleton<timers_bpf>& bpf, bool by_member) {
  for (const auto& [program, wanted] : {std::pair{bpf->progs.on_hrtimer_expire, !by_member},
                                        {bpf->progs.on_members_expire, by_member}})
    bpf_program__set_autoload(program, bpf_program__autoload(program) && wanted);
}

std::unique_ptr<SpanProbe> make_timer_probe(const SpanSource& source, const SpanOptions& options,
                                            const SharedMaps& shared, const Kernel& kernel) {
  // Linux has bpf_task_from_pid() since 6.2.
  return make_span_probe<timers_bpf>(
      source, options, shared, kernel, [&](Skeleton<timers_bpf>& bpf) {
        choose_expiry(bpf, !options.whole_machine &&
                               bpf.can_call(kernel.types(), "bpf_task_from_pid") &&
                               bpf.can_call(kernel.types(), "bpf_task_release"));
      });
}

constexpr SpanSource timer_source{
    .name = "timers", .hooks = timer_hooks, .make_probe = make_timer_probe};

}  // namespace

extern const std::string_view timers_manual;
extern const ProbeInfo timers_probe;
const ProbeInfo timers_probe{
    .name = "timers",
    .summary = "timers: how late they expire, and whose sleep that prolongs",
    .manual = timers_manual,
    .schemas = span_schemas,
    .support = span_support<timer_source>,
    .spans = &timer_source};

}  // namespace overdue
