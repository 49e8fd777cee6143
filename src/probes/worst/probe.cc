#include "probes/worst/probe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "kernel/membership.h"
#include "kernel/per_cpu.h"
#include "kernel/skeleton.h"
#include "kernel/tracepoint_types.h"
#include "probes/worst/worst.h"

#include "worst.skel.h"

namespace overdue {
namespace {

/// Upper limit in bytes for the events of all sets: sets are few, but CPUs may be many.
constexpr std::size_t max_bytes = std::size_t{256} << 20;

/// Events of the same time keep their order.
std::vector<worst_event> in_time_order(const std::vector<worst_event>& events) {
  std::vector<std::size_t> order(events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&events](std::size_t one, std::size_t other) {
    return std::pair(events[one].header.time_ns, one) <
           std::pair(events[other].header.time_ns, other);
  });
  std::vector<worst_event> sorted;
  sorted.reserve(events.size());
  for (const std::size_t i : order) sorted.push_back(events[i]);
  return sorted;
}

u32 room_for_events(u32 wanted, u32 cpus) {
  const std::size_t most = max_bytes / sizeof(worst_event) / WORST_SETS / cpus;
  return static_cast<u32>(
      std::bit_floor(std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(most, 1))));
}

/// The slot at `index` of an array map.
template <typename T>
T element(int map, u32 index) {
  T value{};
  check(bpf_map_lookup_elem(map, &index, &value), "cannot read what happened in a window");
  return value;
}

}  // namespace

struct WorstProbe::Impl {
  TracepointTypes types;
  Skeleton<worst_bpf> bpf{"worst"};
  RefusedPrograms refused;
  std::vector<Link> links;
  u32 cpus = possible_cpu_count();
  bool ended = false;

  void configure(const WorstOptions& options, const SharedMaps& shared);
  std::vector<bpf_program*> hooks_of_events() const;
  void deliver(u32 set, const RecordHandler& handler) const;
  std::vector<worst_event> events_of(u32 set, const worst_window& window, u32& lost) const;
  std::vector<u32> sets_of(u32 set, const worst_window& window, u32& lost) const;
  std::vector<worst_event> events_in(u32 set, u32 cpu, const worst_window& window, u32& lost) const;
};

std::vector<bpf_program*> WorstProbe::Impl::hooks_of_events() const {
  const auto& of = bpf->progs;
  return {of.seen_irq_entry,
          of.seen_irq_exit,
          of.seen_softirq_entry,
          of.seen_softirq_exit,
          of.seen_local_timer_entry,
          of.seen_local_timer_exit,
          of.seen_reschedule_entry,
          of.seen_reschedule_exit,
          of.seen_call_function_entry,
          of.seen_call_function_exit,
          of.seen_call_function_single_entry,
          of.seen_call_function_single_exit,
          of.seen_irq_work_entry,
          of.seen_irq_work_exit};
}

void WorstProbe::Impl::configure(const WorstOptions& options, const SharedMaps& shared) {
  auto& rodata = *bpf->rodata;
  rodata.whole_machine = options.whole_machine;
  rodata.with_events = options.events;
  rodata.keeps_one = options.keep == 1;
  rodata.switch_tells_state = types.arguments("sched_switch").value_or(0) >= 4;
  rodata.tracer = static_cast<u16>(options.tracer);
  rodata.cpu_count = cpus;
  rodata.events_per_cpu = room_for_events(options.events_per_cpu, cpus);
  rodata.threshold_ns = static_cast<u64>(options.threshold.count());
  rodata.cpus_limited = !options.cpus.empty();
  for (const std::uint32_t cpu : options.cpus)
    if (cpu / 64 < std::size(rodata.cpu_set)) rodata.cpu_set[cpu / 64] |= u64{1} << (cpu % 64);
  rodata.per_cpu = find_per_cpu_offsets(types);
  const auto size = [](bpf_map* map, u32 entries) {
    check(bpf_map__set_max_entries(map, entries), "cannot size a map");
  };
  size(bpf->maps.heads, WORST_SETS * cpus);
  size(bpf->maps.events, WORST_SETS * cpus * rodata.events_per_cpu);
  for (bpf_program* hook : hooks_of_events())
    bpf_program__set_autoload(hook, options.events && !is_refused(refused, hook) &&
                                        types.arguments(tracepoint_of(hook)).has_value());
  bpf->bss->set_state[0] = WORST_SET_WRITTEN;
  share_maps(bpf->obj, shared);
}

WorstProbe::WorstProbe(const WorstOptions& options, const SharedMaps& shared)
    : impl_(std::make_unique<Impl>()) {
  impl_->bpf.load_what_works(
      [&](const RefusedPrograms& so_far) {
        impl_->refused = so_far;
        impl_->configure(options, shared);
      },
      [&](const bpf_program* program) {
        const auto hooks = impl_->hooks_of_events();
        return std::find(hooks.begin(), hooks.end(), program) != hooks.end();
      });
  const auto& programs = impl_->bpf->progs;
  // The switches first: a tracked thread must not run unseen.
  for (bpf_program* hook : {programs.track_switch, programs.track_migrate, programs.track_wakeup,
                            programs.track_waking, programs.track_wakeup_new})
    impl_->links.push_back(attach(hook));
  for (bpf_program* hook : impl_->hooks_of_events())
    if (bpf_program__autoload(hook)) impl_->links.push_back(attach(hook));
}

WorstProbe::~WorstProbe() = default;

/// The set that was closed with the window and, if every wake-up is tracked, the sets that were
/// written while the window was open. A set that is already being written anew counts as one more
/// lost event, because the number of its events is unknown.
std::vector<u32> WorstProbe::Impl::sets_of(u32 set, const worst_window& window, u32& lost) const {
  std::vector<u32> sets{set};
  if (bpf->rodata->whole_machine) return sets;
  const auto turn_of = [&](u32 which) {
    const worst_turn& turn = bpf->bss->set_turn[which];
    return std::pair{__atomic_load_n(&turn.since_ns, __ATOMIC_SEQ_CST),
                     __atomic_load_n(&turn.before, __ATOMIC_SEQ_CST)};
  };
  auto [since_ns, before] = turn_of(set);
  while (since_ns > window.begin_ns) {
    const auto earlier = turn_of(before);
    if (earlier.first >= since_ns || before >= WORST_SETS) {
      ++lost;
      break;
    }
    sets.push_back(before);
    std::tie(since_ns, before) = earlier;
  }
  return sets;
}

/// The events of a set and a CPU within the window.
std::vector<worst_event> WorstProbe::Impl::events_in(u32 set, u32 cpu, const worst_window& window,
                                                     u32& lost) const {
  const u32 room = bpf->rodata->events_per_cpu;
  const u32 at = set * cpus + cpu;
  const auto head = element<worst_head>(bpf_map__fd(bpf->maps.heads), at);
  const u64 oldest = head.written > room ? head.written - room : 0;
  u64 first = oldest;
  if (bpf->rodata->whole_machine) {
    if (head.serial != window.serial) return {};
    first = std::max(head.first, oldest);
    lost += static_cast<u32>(first - head.first);
  }
  std::vector<worst_event> here;
  for (u64 index = first; index < head.written; ++index) {
    const u32 slot = at * room + (static_cast<u32>(index) & (room - 1));
    const auto event = element<worst_event>(bpf_map__fd(bpf->maps.events), slot);
    if (index == oldest && oldest > 0 && !bpf->rodata->whole_machine &&
        event.header.time_ns > window.begin_ns)
      ++lost;  // at least the one that this event has overwritten
    if (event.header.time_ns >= window.begin_ns && event.header.time_ns <= window.header.time_ns)
      here.push_back(event);
  }
  return here;
}

/// The events between the window's begin and end, in time order. Adds the number of lost ones to
/// `lost`.
std::vector<worst_event> WorstProbe::Impl::events_of(u32 set, const worst_window& window,
                                                     u32& lost) const {
  std::vector<worst_event> found;
  const std::vector<u32> sets = sets_of(set, window, lost);
  for (const u32 one : sets)
    for (u32 cpu = 0; cpu < cpus; ++cpu) {
      const std::vector<worst_event> here = events_in(one, cpu, window, lost);
      found.insert(found.end(), here.begin(), here.end());
    }
  u32 lost_meanwhile = 0;
  if (sets_of(set, window, lost_meanwhile) != sets) ++lost;
  // An event that interrupts another after its clock read has the later time and may have the
  // earlier slot.
  return in_time_order(found);
}

void WorstProbe::Impl::deliver(u32 set, const RecordHandler& handler) const {
  auto [window, end_stack, wake] = element<worst_slot>(bpf_map__fd(bpf->maps.slots), set);
  const auto from = [&window](const auto& waking) {
    window.waker_pid = waking.waker_pid;
    window.waker_tid = waking.waker_tid;
    std::memcpy(window.waker_comm, waking.waker_comm, COMM_SIZE);
    window.waking_frames = static_cast<u16>(std::min<u32>(waking.frames, WORST_FRAMES));
    return std::to_array(waking.stack);
  };
  const auto waking_stack =
      bpf->rodata->whole_machine
          ? from(element<worst_head>(bpf_map__fd(bpf->maps.heads), set * cpus + window.waker_cpu))
          : from(wake);
  window.end_frames = std::min<u16>(window.end_frames, WORST_FRAMES);
  u32 lost = 0;
  const std::vector<worst_event> events = events_of(set, window, lost);
  window.events = static_cast<u32>(events.size());
  window.lost_events = lost;
  const std::size_t stacks = 8u * (window.waking_frames + window.end_frames);
  window.header.size = static_cast<u16>(sizeof window + stacks);
  std::vector<std::byte> bytes(window.header.size);
  std::memcpy(bytes.data(), &window, sizeof window);
  std::byte* behind = bytes.data() + sizeof window;
  std::memcpy(behind, waking_stack.data(), 8u * window.waking_frames);
  std::memcpy(behind + 8u * window.waking_frames, end_stack, 8u * window.end_frames);
  handler({&worst_window_schema, bytes});
  for (const worst_event& event : events)
    handler({&worst_event_schema, std::as_bytes(std::span(&event, 1))});
}

std::vector<std::string> WorstProbe::left_out() const {
  return to_sentences(impl_->refused);
}

void WorstProbe::poll(const RecordHandler& handler) {
  std::vector<std::pair<u64, u32>> filled;  // earliest first
  for (u32 set = 0; set < WORST_SETS; ++set) {
    u32* const state = &impl_->bpf->bss->set_state[set];
    u32 expected = WORST_SET_FILLED;
    if (!__atomic_compare_exchange_n(state, &expected, WORST_SET_READ, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
      continue;
    const auto slot = element<worst_slot>(bpf_map__fd(impl_->bpf->maps.slots), set);
    filled.emplace_back(slot.window.serial, set);
  }
  if (filled.empty()) return;
  wait_for_running_programs();  // a program that began to write an event is done then
  std::sort(filled.begin(), filled.end());
  for (const auto& [serial, set] : filled) {
    impl_->deliver(set, handler);
    __atomic_store_n(&impl_->bpf->bss->set_state[set], WORST_SET_FREE, __ATOMIC_SEQ_CST);
  }
}

void WorstProbe::raise_bar(std::uint64_t latency_ns) {
  u64* const bar = &impl_->bpf->data->tracked.bar_ns;
  __atomic_store_n(bar, std::max<u64>(__atomic_load_n(bar, __ATOMIC_SEQ_CST), latency_ns),
                   __ATOMIC_SEQ_CST);
}

WorstProbe::Figures WorstProbe::figures() const {
  const auto& seen = *impl_->bpf->bss;
  const auto& tracked = impl_->bpf->data->tracked;
  const auto load = [](const auto& word) -> std::uint64_t {
    return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
  };
  return {.tracked = load(tracked.ended),
          .displaced = load(tracked.displaced),
          .longest_ns = load(tracked.longest_ns),
          .busy = load(seen.losses[WORST_LOST_BUSY]),
          .windows = load(seen.losses[WORST_LOST_WINDOWS]),
          .unseen = load(seen.losses[WORST_LOST_UNSEEN])};
}

void WorstProbe::finish(KernelTime, const RecordHandler& handler) {
  impl_->links.clear();
  impl_->ended = true;
  wait_for_running_programs();
  poll(handler);
}

const Schema* WorstProbe::schema(std::uint16_t kind) const {
  for (const Schema* one : {&worst_window_schema, &worst_event_schema})
    if (kind == one->id) return one;
  return nullptr;
}

Counters WorstProbe::counters() const {
  Counters counters = read_counters(impl_->bpf->obj);
  const Figures seen = figures();
  counters[COUNTER_WORST_BUSY] += seen.busy;
  counters[COUNTER_WORST_WINDOWS] += seen.windows;
  counters[COUNTER_UNMATCHED] += seen.unseen;
  // The wake-ups that were under way at the end.
  const worst_tracked& tracked = impl_->bpf->data->tracked;
  if (impl_->ended) counters[COUNTER_CUT] += (tracked.task != 0 ? 1 : 0) + tracked.pending;
  return counters;
}

}  // namespace overdue
