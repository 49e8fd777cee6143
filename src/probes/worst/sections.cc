#include "probes/worst/sections.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernel/features.h"
#include "kernel/membership.h"
#include "kernel/per_cpu.h"
#include "kernel/preemption.h"
#include "kernel/skeleton.h"
#include "kernel/tracepoint_types.h"
#include "probes/worst/worst.h"

#include "sections.skel.h"

namespace overdue {
namespace {

bool is_about_interrupts(worst_tracer tracer) {
  return tracer != WORST_PREEMPTOFF;
}

bool is_about_preemption(worst_tracer tracer) {
  return tracer != WORST_IRQSOFF;
}

}  // namespace

struct SectionsProbe::Impl {
  Skeleton<sections_bpf> bpf{"sections"};
  TracepointTypes types;
  RefusedPrograms refused;
  std::vector<Link> links;

  bool reports_switch_requests() const;
  std::vector<bpf_program*> interrupt_ends() const;
  std::vector<bpf_program*> hooks(worst_tracer tracer) const;
  void configure(const WorstOptions& options, const SharedMaps& shared);
};

/// Whether a hook reports that a CPU is asked to switch; without it, ends of interrupts do.
bool SectionsProbe::Impl::reports_switch_requests() const {
  return types.has_function("resched_curr") &&
         !is_refused(refused, bpf->progs.section_resched_curr);
}

/// If one of these hooks is missing, the bounds are lower.
std::vector<bpf_program*> SectionsProbe::Impl::interrupt_ends() const {
  const auto& of = bpf->progs;
  return {of.section_irq_handler_exit,          of.section_local_timer_exit,
          of.section_reschedule_exit,           of.section_call_function_exit,
          of.section_call_function_single_exit, of.section_irq_work_exit};
}

std::vector<bpf_program*> SectionsProbe::Impl::hooks(worst_tracer tracer) const {
  const auto& of = bpf->progs;
  std::vector<bpf_program*> wanted;
  if (is_about_interrupts(tracer)) {
    wanted.push_back(of.section_timer_start);
    wanted.push_back(of.section_timer_expire);
  }
  if (is_about_preemption(tracer)) {
    wanted.push_back(of.section_schedule);
    if (reports_switch_requests()) wanted.push_back(of.section_resched_curr);
    for (bpf_program* hook : interrupt_ends())
      if (types.arguments(tracepoint_of(hook)) && !is_refused(refused, hook))
        wanted.push_back(hook);
  }
  return wanted;
}

void SectionsProbe::Impl::configure(const WorstOptions& options, const SharedMaps& shared) {
  auto& rodata = *bpf->rodata;
  rodata.whole_machine = options.whole_machine;
  rodata.keep = static_cast<u32>(options.keep);
  rodata.tracer = static_cast<u16>(options.tracer);
  rodata.resched_bit = read_preemption().resched_bit;
  rodata.per_cpu = find_per_cpu_offsets(types);
  rodata.threshold_ns = static_cast<u64>(options.threshold.count());
  limit_to_cpus(rodata, options.cpus);
  const std::vector<bpf_program*> wanted = hooks(options.tracer);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, bpf->obj) {
    bpf_program__set_autoload(program,
                              std::find(wanted.begin(), wanted.end(), program) != wanted.end());
  }
  share_maps(bpf->obj, shared);
}

SectionsProbe::SectionsProbe(const WorstOptions& options, const SharedMaps& shared)
    : impl_(std::make_unique<Impl>()) {
  impl_->bpf.load_what_works(
      [&](const RefusedPrograms& so_far) {
        impl_->refused = so_far;
        impl_->configure(options, shared);
      },
      [&](const bpf_program* program) {
        const auto ends = impl_->interrupt_ends();
        return program == impl_->bpf->progs.section_resched_curr ||
               std::find(ends.begin(), ends.end(), program) != ends.end();
      });
  for (bpf_program* hook : impl_->hooks(options.tracer)) impl_->links.push_back(attach(hook));
}

SectionsProbe::~SectionsProbe() = default;

void SectionsProbe::raise_bar(std::uint64_t latency_ns) {
  u64* const bar = &impl_->bpf->bss->bar_ns;
  if (__atomic_load_n(bar, __ATOMIC_RELAXED) < latency_ns)
    __atomic_store_n(bar, latency_ns, __ATOMIC_RELAXED);
}

SectionsProbe::Figures SectionsProbe::figures() const {
  const std::uint32_t zero = 0;
  std::vector<worst_section> per_cpu(possible_cpu_count());
  check(bpf_map_lookup_elem(bpf_map__fd(impl_->bpf->maps.sections), &zero, per_cpu.data()),
        "cannot read the figures of a CPU");
  Figures sum;
  for (const worst_section& one : per_cpu) {
    sum.seen += one.seen;
    sum.longest_ns = std::max<std::uint64_t>(sum.longest_ns, one.longest_ns);
  }
  return sum;
}

std::vector<std::string> SectionsProbe::left_out() const {
  return to_sentences(impl_->refused);
}

void SectionsProbe::finish(KernelTime, const RecordHandler&) {
  impl_->links.clear();
}

const Schema* SectionsProbe::schema(std::uint16_t kind) const {
  return kind == RECORD_WORST_WINDOW ? &worst_window_schema : nullptr;
}

Counters SectionsProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

Support support_of_sections(worst_tracer tracer, const Kernel& kernel) {
  std::vector<Support> needed = {kernel.session()};
  if (is_about_interrupts(tracer))
    needed.insert(needed.end(), {kernel.btf_tracepoint("hrtimer_start"),
                                 kernel.btf_tracepoint("hrtimer_expire_entry")});
  if (is_about_preemption(tracer)) needed.push_back(kernel.btf_tracepoint("rcu_utilization"));
  const auto missing =
      std::find_if(needed.begin(), needed.end(), [](const Support& one) { return !one.yes; });
  return missing == needed.end() ? Support{} : *missing;
}

}  // namespace overdue
