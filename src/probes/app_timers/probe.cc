#include "probes/app_timers/probe.h"

#include <vector>

#include "app_timers.skel.h"
#include "core/throttle_schema.h"
#include "kernel/call_hooks.h"
#include "kernel/real_time_limit.h"
#include "kernel/skeleton.h"

namespace overdue {

struct AppTimersProbe::Impl {
  Skeleton<app_timers_bpf> bpf{"app_timers"};
  std::vector<Link> links;
};

AppTimersProbe::AppTimersProbe(const SharedMaps& shared, const AppTimersOptions& options)
    : impl_(std::make_unique<Impl>()) {
  auto& bpf = impl_->bpf;
  share_maps(bpf->obj, shared);
  bpf->rodata->stack_over_ns = static_cast<u64>(options.stack_over.count());
  limit_to_cpus(*bpf->rodata, options.cpus);
  if (options.use_throttles) use_real_time_limit(*bpf->rodata);
  const auto& programs = bpf->progs;
  bpf_program* call_ends =
      call_hooks() == CallHooks::events ? programs.own_call_ends_event : programs.own_call_ends;
  bpf_program__set_autoload(call_ends, true);
  for (bpf_program* hook : {programs.on_throttle, programs.on_unthrottle})
    bpf_program__set_autoload(hook, options.hears_of_queues);
  if (!options.hears_of_queues)
    check(bpf_map__set_max_entries(bpf->maps.throttled_queues, max_real_time_queues()),
          "cannot size a map");
  bpf.load();
  for (bpf_program* program : {programs.on_throttle, programs.on_unthrottle, call_ends,
                               programs.own_switch, programs.own_exit, programs.own_waking,
                               programs.own_expired, programs.own_expire, programs.own_start})
    if (bpf_program__autoload(program)) impl_->links.push_back(attach(program));
}

AppTimersProbe::~AppTimersProbe() = default;

std::uint64_t AppTimersProbe::slept_again() const {
  return __atomic_load_n(&impl_->bpf->bss->slept_again, __ATOMIC_RELAXED);
}

void AppTimersProbe::finish(KernelTime, const RecordHandler&) {
  impl_->links.clear();
}

const Schema* AppTimersProbe::schema(std::uint16_t kind) const {
  if (kind == sched_throttle_schema.id) return &sched_throttle_schema;
  return kind == app_timer_schema.id ? &app_timer_schema : nullptr;
}

Counters AppTimersProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

void AppTimersProbe::end_calibration() {
  clear_counters(bpf_map__fd(impl_->bpf->maps.counters));
  __atomic_store_n(&impl_->bpf->bss->slept_again, 0, __ATOMIC_RELAXED);
}

}  // namespace overdue
