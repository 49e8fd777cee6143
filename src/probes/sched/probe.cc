#include "probes/sched/probe.h"

#include <unistd.h>

#include <string_view>
#include <vector>

#include "bpf/cpu_ledger.h"
#include "kernel/membership.h"
#include "kernel/skeleton.h"
#include "kernel/tracepoint_types.h"
#include "sched.skel.h"

namespace overdue {

struct SchedProbe::Impl {
  Skeleton<sched_bpf> bpf{"sched"};
  SharedMaps shared;
  std::vector<Link> links;
  Activity before;  ///< until the end of calibrating, which is not the target's

  Activity activity() const;
  void configure();
  void attach_all();
  std::vector<bpf_program*> vector_hooks() const;
};

std::vector<bpf_program*> SchedProbe::Impl::vector_hooks() const {
  const auto& programs = bpf->progs;
  return {programs.on_local_timer_entry,
          programs.on_local_timer_exit,
          programs.on_reschedule_entry,
          programs.on_reschedule_exit,
          programs.on_call_function_entry,
          programs.on_call_function_exit,
          programs.on_call_function_single_entry,
          programs.on_call_function_single_exit,
          programs.on_irq_work_entry,
          programs.on_irq_work_exit};
}

void SchedProbe::Impl::configure() {
  constexpr std::string_view prefix = "tp_btf/";
  const TracepointTypes types;
  bpf->rodata->own_pid = static_cast<u32>(getpid());
  bpf->rodata->switch_tells_state = types.arguments("sched_switch").value_or(0) >= 4;
  for (bpf_program* hook : vector_hooks()) {
    const std::string_view section = bpf_program__section_name(hook);
    const bool exists =
        types.arguments(section.substr(section.find(prefix) + prefix.size())).has_value();
    bpf_program__set_autoload(hook, exists);
  }
  check(bpf_map__reuse_fd(bpf->maps.data_control, shared.control),
        "cannot share the control words");
  check(bpf_map__reuse_fd(bpf->maps.rings, shared.rings), "cannot share the rings");
  check(bpf_map__reuse_fd(bpf->maps.threads, shared.threads), "cannot share the threads' state");
}

void SchedProbe::Impl::attach_all() {
  const auto& programs = bpf->progs;
  for (bpf_program* hook :
       {programs.on_switch, programs.on_waking, programs.on_fork, programs.on_first_wakeup})
    links.push_back(attach(hook));
  run_iterator(bpf_program__fd(programs.begin_ledgers), "begin the ledgers of all threads");
  for (bpf_program* hook : {programs.on_irq_entry, programs.on_irq_exit, programs.on_softirq_entry,
                            programs.on_softirq_exit})
    links.push_back(attach(hook));
  for (bpf_program* hook : vector_hooks())
    if (bpf_program__autoload(hook)) links.push_back(attach(hook));
}

SchedProbe::SchedProbe(const SharedMaps& shared) : impl_(std::make_unique<Impl>()) {
  impl_->shared = shared;
  impl_->configure();
  impl_->bpf.load();
  impl_->attach_all();
}

SchedProbe::~SchedProbe() = default;

SharedMaps SchedProbe::maps() const {
  SharedMaps all = impl_->shared;
  all.ledgers = bpf_map__fd(impl_->bpf->maps.ledgers);
  all.cpu_ledgers = bpf_map__fd(impl_->bpf->maps.cpu_ledgers);
  return all;
}

SchedProbe::Activity SchedProbe::Impl::activity() const {
  std::vector<cpu_ledger> of_cpus(possible_cpu_count());
  const u32 zero = 0;
  check(bpf_map_lookup_elem(bpf_map__fd(bpf->maps.cpu_ledgers), &zero, of_cpus.data()),
        "cannot read the ledgers of CPUs");
  Activity sum;
  for (const auto& cpu : of_cpus) {
    sum.calls += cpu.calls;
    sum.switches += cpu.switches;
  }
  return sum;
}

SchedProbe::Activity SchedProbe::activity() const {
  Activity activity = impl_->activity();
  activity.calls -= impl_->before.calls;
  activity.switches -= impl_->before.switches;
  return activity;
}

void SchedProbe::finish(KernelTime, const RecordHandler&) {
  impl_->links.clear();
}

const Schema* SchedProbe::schema(std::uint16_t kind) const {
  if (kind == sched_wait_schema.id) return &sched_wait_schema;
  return kind == sched_wake_schema.id ? &sched_wake_schema : nullptr;
}

Counters SchedProbe::counters() const {
  return read_counters(bpf_map__fd(impl_->bpf->maps.counters));
}

void SchedProbe::end_calibration() {
  clear_counters(bpf_map__fd(impl_->bpf->maps.counters));
  impl_->before = impl_->activity();
}

}  // namespace overdue
