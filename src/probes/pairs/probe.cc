#include "probes/pairs/probe.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "core/span_schema.h"
#include "kernel/membership.h"
#include "kernel/skeleton.h"
#include "kernel/span_sums.h"
#include "pairs.skel.h"

namespace overdue {
namespace {

using Object = Skeleton<pairs_bpf>;

Link checked(bpf_link* made, const EventSpec& event) {
  const int error = made ? 0 : -errno;
  Link link(made);
  if (!link) throw LibbpfLog::refusal(fmt::format("cannot attach to {}", event.text()), error);
  LibbpfLog::attached(event.text());
  return link;
}

/// A hook in the kernel: an object of its own, because its plan is read-only data.
struct Side {
  Object bpf{"pairs"};
  std::vector<Link> links;

  bpf_program* program_for(Hook::Kind kind) const {
    auto& programs = bpf->progs;
    switch (kind) {
      case Hook::Kind::raw_tracepoint:
        return programs.on_raw_tracepoint;
      case Hook::Kind::tracepoint:
        return programs.on_tracepoint;
      case Hook::Kind::function:
        return programs.on_function;
      case Hook::Kind::function_return:
        return programs.on_function_return;
      case Hook::Kind::user_function:
      case Hook::Kind::user_return:
        return programs.on_user_function;
    }
    return nullptr;
  }

  void configure(const PairSpec& pair, std::uint32_t index, const Hook& hook, pair_role role,
                 const PairsOptions& options) const {
    auto& rodata = *bpf->rodata;
    rodata.pair = index;
    rodata.role = static_cast<u8>(role);
    rodata.keeps_first = pair.keeps_first;
    rodata.is_of_ender = pair.is_of_ender;
    rodata.ends_inside = pair.ends_inside;
    rodata.ends_last = pair.ends_last;
    rodata.hides_key = pair.is_ready_made;
    rodata.has_filter = hook.has_filter;
    rodata.ends_alone = pair.begin.filter.has_value() || pair.is_of_ender || !options.cpus.empty();
    rodata.whole_machine = options.whole_machine;
    rodata.user_stack_bytes =
        static_cast<u32>(std::min<std::size_t>(options.user_stack_bytes, USER_STACK_MAX));
    std::copy_n(pair.name.begin(), std::min<std::size_t>(pair.name.size(), SPAN_TEXT_SIZE - 1),
                rodata.pair_name);
    std::memcpy(&rodata.plan, &hook.steps, sizeof hook.steps);
    limit_to_cpus(rodata, options.cpus);
    bpf_program* program = program_for(hook.kind);
    bpf_program__set_autoload(program, true);
    if (!hook.is_typed()) return;
    const EventSpec& event = hook.places[0].event;
    check(bpf_program__set_attach_target(program, 0, event.name.c_str()), "cannot prepare {}",
          event.text());
  }

  void attach_to(const Hook& hook) {
    const LibbpfLog log;
    for (const Hook::Place& place : hook.places) attach_to(hook.kind, place);
  }

  void attach_to(Hook::Kind kind, const Hook::Place& place) {
    bpf_program* program = program_for(kind);
    switch (kind) {
      case Hook::Kind::tracepoint:
        links.push_back(attach_tracepoint(program, place.event.scope, place.event.name));
        return;
      case Hook::Kind::user_function:
      case Hook::Kind::user_return:
        for (const EventSite& site : place.user.sites) attach_to_site(program, kind, place, site);
        return;
      default:
        links.push_back(checked(bpf_program__attach(program), place.event));
    }
  }

  /// The kernel increments the semaphore in every process that has the file mapped.
  void attach_to_site(bpf_program* program, Hook::Kind kind, const Hook::Place& place,
                      const EventSite& site) {
    bpf_uprobe_opts options{};  // libbpf's macro for it is not clean under clang
    options.sz = sizeof options;
    options.retprobe = kind == Hook::Kind::user_return;
    options.ref_ctr_offset = site.semaphore;
    const std::string path = place.user.file->stable_path();
    links.push_back(
        checked(bpf_program__attach_uprobe_opts(program, -1, path.c_str(), site.offset, &options),
                place.event));
  }
};

/// The header of a record about a thread at a time: `of` is an open_pair or a last_end.
void fill_end(span_record& span, const auto& of, u64 time_ns) {
  span.header.time_ns = time_ns;
  span.header.cgroup_id = of.cgroup_id;
  span.header.pid = of.pid;
  span.header.tid = of.tid;
  span.header.cpu = of.cpu;
  std::copy(std::begin(of.comm), std::end(of.comm), span.header.comm);
}

}  // namespace

struct PairsProbe::Impl {
  PairsOptions options;
  std::vector<Side> sides;  // the first side has the maps of all
  session_control* control = nullptr;
  u64 ended_at_finish = 0;  // spans that ended with their last end at the end of the session
  std::vector<span_record> last_spans;  // their records

  void add(std::size_t index, const Hook& hook, pair_role role, const SharedMaps& shared);
  void share(Side& side, const SharedMaps& shared) const;
  span_record record_of(const pair_key& key, const open_pair& open) const;
  void deliver_open(const pair_key& key, const open_pair& open, KernelTime end,
                    const RecordHandler& handler) const;
  bool take_last_end(const pair_key& key, const open_pair& open);
  template <typename Visit>
  void for_open(const Visit& visit) const;
  int counters_fd() const { return bpf_map__fd(sides[0].bpf->maps.counters); }
  u64 limit_of(std::uint32_t pair) const;
};

void PairsProbe::Impl::share(Side& side, const SharedMaps& shared) const {
  auto& maps = side.bpf->maps;
  count_latencies(*side.bpf->rodata, shared);
  sum_spans(*side.bpf->rodata, shared);
  share_maps(side.bpf->obj, shared);
  side.bpf->rodata->want_ledgers = shared.ledger_slots >= 0;
  share_ledgers(side.bpf->obj, shared);
  if (sides.empty()) {
    check(bpf_map__set_max_entries(maps.open_pairs, options.max_open), "cannot size a map");
    const bool have_last_ends = std::ranges::any_of(options.pairs, &PairSpec::ends_last);
    check(bpf_map__set_max_entries(maps.last_ends, have_last_ends ? options.max_open : 1),
          "cannot size a map");
    if (options.user_stack_bytes > 0)
      check(bpf_map__set_max_entries(maps.pair_scratch, PAIR_SCRATCHES * possible_cpu_count()),
            "cannot size a map");
    return;
  }
  const auto& first = sides[0].bpf->maps;
  for (const auto& [map, other] :
       {std::pair{maps.open_pairs, first.open_pairs}, std::pair{maps.last_ends, first.last_ends},
        std::pair{maps.counts, first.counts}, std::pair{maps.counters, first.counters},
        std::pair{maps.pair_scratch, first.pair_scratch},
        std::pair{maps.data_pairs, first.data_pairs}})
    check(bpf_map__reuse_fd(map, bpf_map__fd(other)), "cannot share a map");
}

void PairsProbe::Impl::add(std::size_t index, const Hook& hook, pair_role role,
                           const SharedMaps& shared) {
  Side side;
  side.configure(options.pairs[index], static_cast<std::uint32_t>(index), hook, role, options);
  share(side, shared);
  side.bpf.load();
  side.attach_to(hook);
  sides.push_back(std::move(side));
}

u64 PairsProbe::Impl::limit_of(std::uint32_t pair) const {
  const u64 own =
      __atomic_load_n(&sides[0].bpf->data_pairs->pairs.threshold_ns[pair], __ATOMIC_RELAXED);
  if (own != 0) return own;
  return __atomic_load_n(&sides[0].bpf->data_control->control.threshold_ns[SPAN_PAIR],
                         __ATOMIC_RELAXED);
}

PairsProbe::PairsProbe(const PairsOptions& options, const SharedMaps& shared, const Kernel& kernel,
                       EventFinder& finder)
    : impl_(std::make_unique<Impl>()) {
  if (options.pairs.empty() || options.pairs.size() > PAIRS_MAX)
    throw Error("a session has at most {} spans of its own, these are {}", PAIRS_MAX,
                options.pairs.size())
        .exit_status(2);
  const auto types = KernelTypes::of_kernel();
  if (!types) require_support("define spans", kernel.btf());
  if (!types) throw Error("cannot read the kernel's types");
  impl_->options = options;
  std::vector<HookPair> hooks;  // all first: a mistake is reported before anything is attached
  for (const PairSpec& pair : options.pairs)
    hooks.push_back(make_hooks(pair, *types, kernel, finder));
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    for (const Hook& hook : hooks[i].drop) impl_->add(i, hook, PAIR_DROP, shared);
    for (const Hook& hook : hooks[i].end) impl_->add(i, hook, PAIR_END, shared);
    for (const Hook& hook : hooks[i].begin) impl_->add(i, hook, PAIR_BEGIN, shared);
  }
}

PairsProbe::~PairsProbe() = default;

template <typename Visit>
void PairsProbe::Impl::for_open(const Visit& visit) const {
  const int fd = bpf_map__fd(sides[0].bpf->maps.open_pairs);
  pair_key key{};
  const pair_key* previous = nullptr;
  while (bpf_map_get_next_key(fd, previous, &key) == 0) {
    const pair_key current = key;
    open_pair open{};
    const bool found = bpf_map_lookup_elem(fd, &current, &open) == 0;
    key = current;
    previous = &key;
    if (found) visit(fd, current, open);
  }
}

/// A record without an end.
span_record PairsProbe::Impl::record_of(const pair_key& key, const open_pair& open) const {
  span_record span{};
  span.header.kind = RECORD_SPAN;
  span.header.size = sizeof span;
  span.subject = key.key[0];
  span.detail = key.key[1];
  span.begin_pid = open.pid;
  span.begin_tid = open.tid;
  span.span = SPAN_PAIR;
  const PairSpec& pair = options.pairs[key.pair];
  span.flags = pair.is_ready_made ? SPAN_KEY_HIDDEN : 0;
  std::copy_n(pair.name.begin(), std::min<std::size_t>(pair.name.size(), SPAN_TEXT_SIZE - 1),
              span.text);
  return span;
}

void PairsProbe::Impl::deliver_open(const pair_key& key, const open_pair& open, KernelTime end,
                                    const RecordHandler& handler) const {
  const u64 end_ns = end.time_since_epoch().count();
  const u64 age_ns = end_ns > open.begin_ns ? end_ns - open.begin_ns : 0;
  const u64 limit_ns = key.pair < options.pairs.size() ? limit_of(key.pair) : 0;
  if (limit_ns == 0 || age_ns < limit_ns) return;
  // Whose it will be is not known yet.
  if (options.pairs[key.pair].is_of_ender && !options.whole_machine) return;
  span_record span = record_of(key, open);
  fill_end(span, open, end_ns);
  span.latency_ns = age_ns;
  span.flags |= SPAN_OPEN;
  handler(Record{&span_schema, std::as_bytes(std::span(&span, 1))});
}

/// Ends an open span that has had an end, as end_with_last() of pairs.bpf.c does. False: the span
/// has had none.
bool PairsProbe::Impl::take_last_end(const pair_key& key, const open_pair& open) {
  if (key.pair >= options.pairs.size() || !options.pairs[key.pair].ends_last) return false;
  last_end end{};
  if (bpf_map_lookup_elem(bpf_map__fd(sides[0].bpf->maps.last_ends), &key, &end) != 0 ||
      end.end_ns < open.begin_ns)
    return false;
  ++ended_at_finish;
  if (end.is_late == 0) return true;
  span_record span = record_of(key, open);
  fill_end(span, end, end.end_ns);
  span.latency_ns = end.end_ns - open.begin_ns;
  span.ledger = end.ledger;
  span.throttled_ns = end.throttled_ns;
  span.flags |= end.flags;
  last_spans.push_back(span);
  return true;
}

void PairsProbe::finish(KernelTime end, const RecordHandler& handler) {
  for (Side& side : impl_->sides) side.links.clear();
  wait_for_running_programs();  // programs that end a span have removed it from the map
  impl_->for_open([&](int, const pair_key& key, const open_pair& open) {
    if (!impl_->take_last_end(key, open)) impl_->deliver_open(key, open, end, handler);
  });
}

/// Spans that ended with their last end come after the rings' records, which explain them.
void PairsProbe::drain_cells(std::uint32_t, KernelTime, const RecordHandler& handler) {
  std::vector<span_record> spans = std::exchange(impl_->last_spans, {});
  std::ranges::sort(spans, {}, [](const span_record& span) { return span.header.time_ns; });
  for (const span_record& span : spans)
    handler(Record{&span_schema, std::as_bytes(std::span(&span, 1))});
}

const Schema* PairsProbe::schema(std::uint16_t kind) const {
  return kind == span_schema.id ? &span_schema : nullptr;
}

Counters PairsProbe::counters() const {
  Counters counters = read_counters(impl_->sides[0].bpf->obj);
  for (const auto& side : std::span(impl_->sides).subspan(1))
    add_program_counters(counters, side.bpf->obj);
  counters[COUNTER_SPANS] += impl_->ended_at_finish;
  return counters;
}

void PairsProbe::end_calibration() {
  clear_counters(impl_->counters_fd());
  std::vector<pair_key> keys;
  impl_->for_open([&](int, const pair_key& key, const open_pair&) { keys.push_back(key); });
  for (const pair_key& key : keys)
    bpf_map_delete_elem(bpf_map__fd(impl_->sides[0].bpf->maps.open_pairs), &key);
  const std::vector<pair_counts> zeros(possible_cpu_count());
  for (u32 i = 0; i < PAIRS_MAX; ++i) {
    bpf_map_update_elem(bpf_map__fd(impl_->sides[0].bpf->maps.counts), &i, zeros.data(), BPF_ANY);
    __atomic_store_n(&impl_->sides[0].bpf->data_pairs->pairs.begun[i], 0, __ATOMIC_RELAXED);
  }
}

void PairsProbe::set_threshold(std::size_t pair, std::optional<Duration> threshold) {
  if (pair >= impl_->options.pairs.size()) throw Error("there is no span {}", pair);
  const u64 ns = threshold ? std::max<u64>(threshold->count(), 1) : 0;
  __atomic_store_n(&impl_->sides[0].bpf->data_pairs->pairs.threshold_ns[pair], ns,
                   __ATOMIC_RELAXED);
}

pair_counts PairsProbe::counts(std::size_t pair) const {
  pair_counts sum{};
  const auto key = static_cast<u32>(pair);
  std::vector<pair_counts> per_cpu(possible_cpu_count());
  if (pair >= PAIRS_MAX ||
      bpf_map_lookup_elem(bpf_map__fd(impl_->sides[0].bpf->maps.counts), &key, per_cpu.data()) != 0)
    return sum;
  for (const pair_counts& own : per_cpu) {
    sum.begins += own.begins;
    sum.ends += own.ends;
    sum.unmatched += own.unmatched;
    sum.replaced += own.replaced;
    sum.full += own.full;
    sum.unread += own.unread;
    sum.dropped += own.dropped;
  }
  return sum;
}

}  // namespace overdue
