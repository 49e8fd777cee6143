#include "probes/timerlat/probe.h"

#include <string_view>
#include <vector>

#include "kernel/features.h"
#include "kernel/membership.h"
#include "kernel/per_cpu.h"
#include "kernel/skeleton.h"
#include "kernel/tracepoint_types.h"
#include "timerlat.skel.h"

namespace overdue {

struct TimerlatProbe::Impl {
  Skeleton<timerlat_bpf> bpf{"timerlat"};
  std::vector<Link> links;

  void configure(const TimerlatOptions& options, const SharedMaps& shared);
  void attach_all();
};

void TimerlatProbe::Impl::configure(const TimerlatOptions& options, const SharedMaps& shared) {
  constexpr std::string_view prefix = "tp_btf/";
  const auto ns = [](Duration duration) { return static_cast<u64>(duration.count()); };
  bpf->rodata->stop_irq_ns = ns(options.stop_irq);
  bpf->rodata->stop_total_ns = ns(options.stop_total);
  bpf->rodata->stop_user_ns = ns(options.stop_user);
  bpf->rodata->stack_over_ns = ns(options.stack_over);
  bpf->rodata->silence_ns = ns(options.silence_over);
  bpf->rodata->stacks_wanted = options.stop_irq.count() != 0 || options.stop_total.count() != 0 ||
                               options.stop_user.count() != 0 || options.stack_over.count() != 0;
  const TracepointTypes types;
  bpf->rodata->per_cpu = find_per_cpu_offsets(types);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, bpf->obj) {
    const std::string_view section = bpf_program__section_name(program);
    const std::string_view tracepoint = section.substr(section.find(prefix) + prefix.size());
    bpf_program__set_autoload(program, types.arguments(tracepoint).has_value());
  }
  check(bpf_map__reuse_fd(bpf->maps.data_control, shared.control),
        "cannot share the control words");
  check(bpf_map__reuse_fd(bpf->maps.rings, shared.rings), "cannot share the rings");
}

void TimerlatProbe::Impl::attach_all() {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, bpf->obj) {
    if (bpf_program__autoload(program)) links.push_back(attach(program));
  }
}

TimerlatProbe::TimerlatProbe(const TimerlatOptions& options, const SharedMaps& shared)
    : impl_(std::make_unique<Impl>()) {
  impl_->configure(options, shared);
  impl_->bpf.load();
  impl_->attach_all();
}

TimerlatProbe::~TimerlatProbe() = default;

timerlat_slot& TimerlatProbe::slot(std::uint32_t cpu) {
  if (cpu >= TIMERLAT_CPUS_MAX)
    throw Error("CPU {} is beyond the {} that can be measured", cpu, TIMERLAT_CPUS_MAX);
  return impl_->bpf->bss->slots[cpu];
}

const u32& TimerlatProbe::stopping() const {
  return impl_->bpf->bss->stopping;
}

bool TimerlatProbe::finished() const {
  return __atomic_load_n(&impl_->bpf->bss->finished, __ATOMIC_ACQUIRE) != 0;
}

void TimerlatProbe::finish(KernelTime, const RecordHandler&) {
  impl_->links.clear();
}

const Schema* TimerlatProbe::schema(std::uint16_t kind) const {
  return kind == RECORD_TIMERLAT ? &timerlat_activation_schema : nullptr;
}

Counters TimerlatProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

}  // namespace overdue
