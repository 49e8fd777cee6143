#include "probes/sched/probe.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/cpu_ledger.h"
#include "bpf/thread_ledger.h"
#include "kernel/ended_entries.h"
#include "kernel/host.h"
#include "kernel/mapped.h"
#include "kernel/membership.h"
#include "kernel/real_time_limit.h"
#include "kernel/skeleton.h"
#include "kernel/span_sums.h"
#include "kernel/tracepoint_types.h"
#include "sched.skel.h"

namespace overdue {
namespace {

constexpr u32 first_idle_number = 1u << 31;  // beyond the numbers of other threads
/// Waits whose runs all CPUs together look up eight times a second, in pairs of threads that fill a
/// part of the table only.
constexpr u32 looks_of_machine = 64;

}  // namespace

struct SchedProbe::Impl {
  Impl(const SharedMaps& maps, const SchedOptions& wanted) : shared(maps), options(wanted) {}

  SharedMaps shared;
  SchedOptions options;
  TracepointTypes types;
  Skeleton<sched_bpf> bpf{"sched"};
  RefusedPrograms refused;
  std::vector<Link> links;
  bpf_program* switch_hook = nullptr;
  std::uint64_t calls_before = 0;  ///< calls until calibration ended: not the target's

  std::uint64_t calls() const;
  Mapped cpu_sums;        ///< of each possible CPU, with keeps_cpu_totals
  bool has_work = false;  ///< the kernel runs a BPF function on a thread's way back to its program

  void load();
  void configure();
  void configure_throttles();
  void choose_switch_hook();
  void choose_samples();
  void choose_totals();
  void clear_present();
  void deliver_cpus(u32 epoch, KernelTime now, const RecordHandler& handler);
  void deliver_idle(u32 epoch, KernelTime now, const RecordHandler& handler);
  void deliver_displacers(u32 epoch, KernelTime now, const RecordHandler& handler);
  void attach_all();
  bool wants_stacks() const { return options.user_stack_bytes > 0; }
  bool is_here(const bpf_program* vector_hook) const;
  /// Whether the kernel marks each thread that a quota keeps from running.
  bool marks_throttled() const {
    return types.member_offset("task_struct", "throttled").has_value();
  }
  /// Whether the kernel has quotas and reports only whole queues as throttled.
  bool throttles_queues() const;
  bool tells_throttles() const;
  bool tells_disks() const { return types.member_offset("request_queue", "disk").has_value(); }
  /// Whether a program can read another CPU's value of a per-CPU map (Linux 5.19).
  bool sees_migrations() const { return !is_refused(refused, bpf->progs.on_migration); }
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

void SchedProbe::Impl::choose_switch_hook() {
  const auto& programs = bpf->progs;
  const bool names_program = bpf.can_call(types, "bpf_task_work_schedule_resume_impl");
  has_work = options.use_task_work && !is_refused(refused, programs.on_switch_with_work) &&
             (names_program || bpf.can_call(types, "bpf_task_work_schedule_resume")) &&
             bpf.can_call(types, "bpf_preempt_disable");
  switch_hook = !wants_stacks() ? programs.on_switch
                : has_work      ? programs.on_switch_with_work
                                : programs.on_switch_with_exits;
  for (bpf_program* hook :
       {programs.on_switch, programs.on_switch_with_work, programs.on_switch_with_exits})
    bpf_program__set_autoload(hook, hook == switch_hook);
  bpf_program__set_autoload(programs.on_exit_from_call, wants_stacks() && !has_work);
  bpf->rodata->work_names_program = names_program;
  bpf->rodata->user_stack_bytes =
      static_cast<u32>(std::min<std::size_t>(options.user_stack_bytes, USER_STACK_MAX));
  const auto size = [](bpf_map* map, u32 entries) {
    check(bpf_map__set_max_entries(map, entries), "cannot size a map");
  };
  if (wants_stacks()) size(bpf->maps.stack_scratch, possible_cpu_count());
  if (!wants_stacks() || !has_work) size(bpf->maps.copy_works, 1);
}

/// A CPU's tick takes the samples. If ticks are not visible, there are no samples at all: samples
/// of preempted threads and of wakers alone would be biased.
void SchedProbe::Impl::choose_samples() {
  if (!is_here(bpf->progs.on_local_timer_entry) || options.sample_bytes == 0) return;
  bpf->rodata->sample_bytes =
      static_cast<u32>(std::min<std::size_t>(options.sample_bytes, SAMPLE_STACK_MAX));
  check(bpf_map__set_max_entries(bpf->maps.sample_scratch, possible_cpu_count()),
        "cannot size a map");
}

void SchedProbe::Impl::choose_totals() {
  bpf->rodata->keeps_totals = options.keeps_totals;
  bpf->rodata->keeps_idle = options.keeps_idle_totals;
  bpf->rodata->keeps_cpus = options.keeps_cpu_totals;
  bpf->rodata->keeps_behind = options.keeps_behind;
  bpf->rodata->looks_at_once = std::max(1u, looks_of_machine / possible_cpu_count());
  limit_to_cpus(*bpf->rodata, options.cpus);
  std::ranges::copy(
      std::span(options.call_reasons)
          .first(std::min(options.call_reasons.size(), std::size(bpf->rodata->call_reasons))),
      bpf->rodata->call_reasons);
  bpf_program__set_autoload(bpf->progs.report_threads, options.keeps_totals);
  if (!options.keeps_totals)
    check(bpf_map__set_max_entries(bpf->maps.displacers, 1), "cannot size a map");
  if (options.keeps_cpu_totals)
    check(bpf_map__set_max_entries(bpf->maps.totals_of_cpus, possible_cpu_count()),
          "cannot size a map");
}

bool SchedProbe::Impl::is_here(const bpf_program* vector_hook) const {
  return options.use_vectors && !is_refused(refused, vector_hook) &&
         types.arguments(tracepoint_of(vector_hook)).has_value();
}

bool SchedProbe::Impl::throttles_queues() const {
  return !marks_throttled() && types.has_function("tg_throttle_down") &&
         types.has_function("tg_unthrottle_up");
}

bool SchedProbe::Impl::tells_throttles() const {
  return options.use_throttles && (marks_throttled() || throttles_queues()) &&
         !is_refused(refused, bpf->progs.on_throttle) &&
         !is_refused(refused, bpf->progs.on_unthrottle);
}

void SchedProbe::Impl::configure_throttles() {
  bpf->rodata->tells_throttles = tells_throttles();
  if (options.use_throttles) use_real_time_limit(*bpf->rodata);
  const bool queues = tells_throttles() && throttles_queues();
  if (!queues)
    check(bpf_map__set_max_entries(bpf->maps.throttled_queues, max_real_time_queues()),
          "cannot size a map");
  for (bpf_program* hook : {bpf->progs.on_throttle, bpf->progs.on_unthrottle})
    bpf_program__set_autoload(hook, queues);
}

void SchedProbe::Impl::configure() {
  bpf->rodata->own_pid = static_cast<u32>(getpid());
  choose_switch_hook();
  choose_samples();
  choose_totals();
  bpf->rodata->switch_tells_state = types.arguments("sched_switch").value_or(0) >= 4;
  for (bpf_program* hook : vector_hooks()) bpf_program__set_autoload(hook, is_here(hook));
  bpf_program__set_autoload(bpf->progs.on_completion, tells_disks());
  bpf_program__set_autoload(bpf->progs.on_migration, sees_migrations());
  configure_throttles();
  count_latencies(*bpf->rodata, shared);
  sum_spans(*bpf->rodata, shared);
  share_maps(bpf->obj, shared);
}

void SchedProbe::Impl::load() {
  bpf.hide_unlike_functions([this]() -> const TracepointTypes& { return types; });
  bpf.load_what_works(
      [this](const RefusedPrograms& so_far) {
        refused = so_far;
        configure();
      },
      [this](const bpf_program* program) {
        const auto vectors = vector_hooks();
        return program == bpf->progs.on_switch_with_work || program == bpf->progs.on_throttle ||
               program == bpf->progs.on_unthrottle || program == bpf->progs.on_migration ||
               std::find(vectors.begin(), vectors.end(), program) != vectors.end();
      });
}

void SchedProbe::Impl::attach_all() {
  const auto& programs = bpf->progs;
  for (bpf_program* hook :
       {programs.on_throttle, programs.on_unthrottle, switch_hook, programs.on_waking,
        programs.on_fork, programs.on_first_wakeup, programs.on_exit_from_call, programs.on_free,
        programs.on_sent_signal, programs.on_completion, programs.on_migration})
    if (bpf_program__autoload(hook)) links.push_back(attach(hook));
  run_iterator(bpf_program__fd(programs.begin_ledgers), "begin the ledgers of all threads");
  for (bpf_program* hook : {programs.on_irq_entry, programs.on_irq_exit, programs.on_softirq_entry,
                            programs.on_softirq_exit})
    links.push_back(attach(hook));
  for (bpf_program* hook : vector_hooks())
    if (bpf_program__autoload(hook)) links.push_back(attach(hook));
}

SchedProbe::SchedProbe(const SharedMaps& shared, const SchedOptions& options)
    : impl_(std::make_unique<Impl>(shared, options)) {
  impl_->load();
  if (options.keeps_cpu_totals)
    impl_->cpu_sums = Mapped(bpf_map__fd(impl_->bpf->maps.totals_of_cpus),
                             possible_cpu_count() * sizeof(cpu_totals), PROT_READ | PROT_WRITE, 0,
                             "the totals of the CPUs");
  impl_->attach_all();
}

SchedProbe::~SchedProbe() = default;

SharedMaps SchedProbe::maps() const {
  SharedMaps all = impl_->shared;
  all.ledger_slots = bpf_map__fd(impl_->bpf->maps.ledger_slots);
  all.ledgers = bpf_map__fd(impl_->bpf->maps.ledgers);
  all.ledgers_hashed = bpf_map__fd(impl_->bpf->maps.ledgers_hashed);
  all.cpu_ledgers = bpf_map__fd(impl_->bpf->maps.cpu_ledgers);
  all.place_tables = bpf_map__fd(impl_->bpf->maps.place_tables);
  all.throttled_queues = bpf_map__fd(impl_->bpf->maps.throttled_queues);
  return all;
}

bool SchedProbe::has_stacks_everywhere() const {
  return impl_->has_work;
}

Duration SchedProbe::quiet_time() const {
  // A tick may be late because interrupts were disabled, but then something else is late as well.
  return bpf_program__autoload(impl_->bpf->progs.on_local_timer_entry) ? 2 * tick_period()
                                                                       : Duration(0);
}

std::uint64_t SchedProbe::Impl::calls() const {
  std::vector<cpu_ledger> of_cpus(possible_cpu_count());
  const u32 zero = 0;
  check(bpf_map_lookup_elem(bpf_map__fd(bpf->maps.cpu_ledgers), &zero, of_cpus.data()),
        "cannot read the ledgers of CPUs");
  std::uint64_t sum = 0;
  for (const auto& cpu : of_cpus) sum += cpu.calls;
  return sum;
}

std::uint64_t SchedProbe::calls() const {
  return impl_->calls() - impl_->calls_before;
}

/// An iterator reads the threads: `epoch` has begun, and the longest waits are those of the last.
void SchedProbe::drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) {
  if (!impl_->options.keeps_totals) return;
  impl_->clear_present();
  run_iterator(
      bpf_program__fd(impl_->bpf->progs.report_threads), "read the totals of the target's threads",
      sizeof(offcpu_thread),
      [&](std::span<const std::byte> record) { handler(Record{&offcpu_thread_schema, record}); });
  impl_->deliver_cpus(epoch, now, handler);
  impl_->deliver_idle(epoch, now, handler);
  impl_->deliver_displacers(epoch, now, handler);
}

/// The iterator adds up what goes on.
void SchedProbe::Impl::clear_present() {
  if (!options.keeps_cpu_totals) return;
  for (u32 cpu = 0; cpu < possible_cpu_count(); ++cpu) {
    cpu_totals& totals = cpu_sums.as<cpu_totals>()[cpu];
    totals.present = {};
    totals.open_ns = 0;
  }
}

/// No program writes to the longest wait of the ended epoch any more.
void SchedProbe::Impl::deliver_cpus(u32 epoch, KernelTime now, const RecordHandler& handler) {
  if (!options.keeps_cpu_totals) return;
  for (u32 cpu = 0; cpu < possible_cpu_count(); ++cpu) {
    cpu_totals& totals = cpu_sums.as<cpu_totals>()[cpu];
    const auto sum = [&totals](u64 offcpu_sums::* part) {
      return __atomic_load_n(&(totals.sums.*part), __ATOMIC_RELAXED) + totals.present.*part;
    };
    offcpu_cpu record{};
    record.header.time_ns = static_cast<u64>(now.time_since_epoch().count());
    record.header.kind = RECORD_OFFCPU_CPU;
    record.header.size = sizeof record;
    record.header.cpu = cpu;
    for (u64 offcpu_sums::* const part :
         {&offcpu_sums::oncpu_ns, &offcpu_sums::sleeping_ns, &offcpu_sums::uninterruptible_ns,
          &offcpu_sums::runqueue_ns, &offcpu_sums::preempted_ns, &offcpu_sums::throttled_ns})
      record.sums.*part = sum(part);
    record.waits = __atomic_load_n(&totals.waits, __ATOMIC_RELAXED);
    record.preemptions = __atomic_load_n(&totals.preemptions, __ATOMIC_RELAXED);
    record.longest_ns = std::exchange(totals.longest_ns[(epoch - 1) & 1], 0);
    record.open_ns = totals.open_ns;
    handler(Record{&offcpu_cpu_schema, std::as_bytes(std::span(&record, 1))});
  }
}

void SchedProbe::Impl::deliver_idle(u32 epoch, KernelTime now, const RecordHandler& handler) {
  if (!options.keeps_idle_totals) return;
  std::vector<thread_ledger> ledgers(possible_cpu_count());
  const u32 zero = 0;
  check(bpf_map_lookup_elem(bpf_map__fd(bpf->maps.idle_ledgers), &zero, ledgers.data()),
        "cannot read the totals of idle threads");
  for (u32 cpu = 0; cpu < ledgers.size(); ++cpu) {
    const thread_totals& totals = ledgers[cpu].totals;
    if (totals.waits == 0) continue;
    offcpu_thread record{};
    record.header.time_ns = static_cast<u64>(now.time_since_epoch().count());
    record.header.kind = RECORD_OFFCPU_THREAD;
    record.header.size = sizeof record;
    record.header.cpu = cpu;
    fmt::format_to_n(record.header.comm, sizeof record.header.comm - 1, "swapper/{}", cpu);
    record.since_ns = bpf->data_control->control.since_ns[SPAN_OFFCPU];
    record.sums.oncpu_ns = totals.sums.oncpu_ns;
    record.sums.preempted_ns = totals.sums.preempted_ns;
    record.waits = totals.waits;
    record.preemptions = totals.preemptions;
    record.longest_ns = totals.epoch == epoch - 1           ? totals.longest_ns
                        : totals.earlier_epoch == epoch - 1 ? totals.earlier_ns
                                                            : 0;
    record.number = first_idle_number + cpu;
    handler(Record{&offcpu_thread_schema, std::as_bytes(std::span(&record, 1))});
  }
}

/// Takes the entries of ended epochs out of the table.
void SchedProbe::Impl::deliver_displacers(u32 epoch, KernelTime now, const RecordHandler& handler) {
  auto ended = take_ended<displacer_key, offcpu_displacer>(bpf_map__fd(bpf->maps.displacers),
                                                           DISPLACERS_MAX, epoch);
  __atomic_fetch_sub(&bpf->bss->displacers_used, static_cast<u32>(ended.size()), __ATOMIC_RELAXED);
  for (offcpu_displacer& displacer : ended) {
    displacer.header.time_ns = static_cast<u64>(now.time_since_epoch().count());
    handler(Record{&offcpu_displacer_schema, std::as_bytes(std::span(&displacer, 1))});
  }
}

double SchedProbe::fill(std::uint32_t) const {
  return static_cast<double>(__atomic_load_n(&impl_->bpf->bss->displacers_used, __ATOMIC_RELAXED)) /
         DISPLACERS_MAX;
}

void SchedProbe::finish(KernelTime, const RecordHandler&) {
  impl_->links.clear();
}

const Schema* SchedProbe::schema(std::uint16_t kind) const {
  for (const Schema* one :
       {&sched_wait_schema, &sched_wake_schema, &sched_throttle_schema, &sched_runs_schema,
        &wait_places_schema, &wait_stack_schema, &cpu_sample_schema, &stop_signal_schema,
        &offcpu_thread_schema, &offcpu_displacer_schema, &offcpu_cpu_schema})
    if (kind == one->id) return one;
  return nullptr;
}

std::vector<std::string> SchedProbe::left_out() const {
  std::vector<std::string> all = to_sentences(impl_->refused);
  if (impl_->wants_stacks() && !impl_->has_work)
    all.emplace_back(
        "waits outside of system calls have no user stacks: this kernel has no task work for BPF "
        "programs");
  if (!impl_->options.use_throttles && (impl_->marks_throttled() || impl_->throttles_queues()))
    all.emplace_back(
        "time that the CPU quotas of cgroups take counts as preempted or unknown: this kernel does "
        "not tell of it");
  std::string vectors;
  for (const bpf_program* hook : impl_->vector_hooks())
    if (!impl_->is_here(hook))
      vectors += fmt::format("{}{}", vectors.empty() ? "" : ", ", tracepoint_of(hook));
  if (!vectors.empty())
    all.push_back(fmt::format(
        "time in these interrupts counts as the thread's own: this kernel has no tracepoint {}",
        vectors));
  return all;
}

Counters SchedProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

void SchedProbe::end_calibration() {
  clear_counters(bpf_map__fd(impl_->bpf->maps.counters));
  impl_->calls_before = impl_->calls();
}

}  // namespace overdue
