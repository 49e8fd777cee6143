#include "probes/osnoise/probe.h"

#include <sys/mman.h>

#include <string_view>

#include "base/error.h"
#include "kernel/mapped.h"
#include "kernel/membership.h"
#include "kernel/skeleton.h"
#include "kernel/tracepoint_types.h"

#include "osnoise.skel.h"

namespace overdue {

struct OsnoiseProbe::Impl {
  explicit Impl(BusyThreads& busy) : threads(busy) {}

  BusyThreads& threads;
  Skeleton<osnoise_bpf> bpf{"osnoise"};
  std::vector<Link> links;
  u32 cpus = possible_cpu_count();
  Mapped shared;  ///< one osnoise_cpu per possible CPU

  void configure(const SharedMaps& maps);
};

void OsnoiseProbe::Impl::configure(const SharedMaps& maps) {
  constexpr std::string_view prefix = "tp_btf/";
  const TracepointTypes types;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, bpf->obj) {
    const std::string_view section = bpf_program__section_name(program);
    const std::string_view tracepoint = section.substr(section.find(prefix) + prefix.size());
    bpf_program__set_autoload(program, types.arguments(tracepoint).has_value());
  }
  check(bpf_map__set_max_entries(bpf->maps.cpus, cpus), "cannot size a map");
  check(bpf_map__reuse_fd(bpf->maps.data_control, maps.control), "cannot share the control words");
  check(bpf_map__reuse_fd(bpf->maps.rings, maps.rings), "cannot share the rings");
}

OsnoiseProbe::OsnoiseProbe(BusyThreads& threads, const SharedMaps& shared, int cgroup_hierarchy)
    : impl_(std::make_unique<Impl>(threads)) {
  impl_->configure(shared);
  impl_->bpf->rodata->origins_wanted = threads.options().origins;
  impl_->bpf->rodata->cgroup_hierarchy = cgroup_hierarchy;
  impl_->bpf->rodata->loaded_ns = KernelClock::now_ns();
  impl_->bpf.load();
  impl_->shared = Mapped(bpf_map__fd(impl_->bpf->maps.cpus), impl_->cpus * sizeof(osnoise_cpu),
                         PROT_READ | PROT_WRITE, 0, "what our programs write down");
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, impl_->bpf->obj) {
    if (bpf_program__autoload(program)) impl_->links.push_back(attach(program));
  }
}

OsnoiseProbe::~OsnoiseProbe() {
  impl_->threads.end();
}

void OsnoiseProbe::begin() {
  std::vector<osnoise_cpu*> shared;
  for (const std::uint32_t cpu : impl_->threads.options().cpus) {
    if (cpu >= impl_->cpus) throw Error("CPU {} is beyond the {} there can be", cpu, impl_->cpus);
    shared.push_back(impl_->shared.as<osnoise_cpu>() + cpu);
  }
  impl_->threads.begin(shared, impl_->bpf->data_control->control.armed);
}

void OsnoiseProbe::poll(const RecordHandler& handler) {
  impl_->threads.drain(handler);
}

/// The threads end first: the programs must see everything that the threads see until then.
void OsnoiseProbe::finish(KernelTime, const RecordHandler& handler) {
  impl_->threads.end();
  impl_->links.clear();
  impl_->threads.drain(handler);
}

const Schema* OsnoiseProbe::schema(std::uint16_t kind) const {
  for (const Schema* one : {&osnoise_gap_schema, &osnoise_sample_schema})
    if (kind == one->id) return one;
  return nullptr;
}

Counters OsnoiseProbe::counters() const {
  Counters counters = read_counters(impl_->bpf->obj);
  counters[COUNTER_RING_FULL] += impl_->threads.lost();
  counters[COUNTER_UNMATCHED] += impl_->threads.unseen() + impl_->threads.unreported();
  return counters;
}

}  // namespace overdue
