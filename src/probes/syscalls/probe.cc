#include "probes/syscalls/probe.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "bpf/call_object.h"
#include "core/span_schema.h"
#include "core/throttle_schema.h"
#include "kernel/call_hooks.h"
#include "kernel/mapped.h"
#include "kernel/real_time_limit.h"
#include "kernel/skeleton.h"
#include "kernel/tick.h"
#include "kernel/tracepoint_types.h"
#include "probes/syscalls/table.h"
#include "syscalls.skel.h"
#include "syscalls/signatures.h"

namespace overdue {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

constexpr std::size_t words_per_abi = SYSCALL_TABLE_SIZE / 64;

/// The kernel side's sets: 64 calls per word.
SyscallSet to_set(const u64 (&words)[SYSCALL_SET_WORDS]) {
  SyscallSet set;
  for (std::size_t abi = 0; abi < ABI_COUNT; ++abi)
    for (std::size_t nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
      set[abi][nr] =
          __atomic_load_n(&words[abi * words_per_abi + nr / 64], __ATOMIC_RELAXED) >> (nr % 64) & 1;
  return set;
}

void copy_bits(const SyscallSet& set, u64 (&words)[SYSCALL_SET_WORDS]) {
  for (std::size_t abi = 0; abi < ABI_COUNT; ++abi)
    for (std::size_t nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
      if (set[abi][nr]) words[abi * words_per_abi + nr / 64] |= u64{1} << (nr % 64);
}

/// As object_arguments of the kernel side.
u8 object_argument(u32 nr) {
  if (nr == SYS_poll || nr == SYS_ppoll) return 1 | CALL_OBJECT_IN_POLL;
  const Signature* signature = find_signature(ABI_NATIVE, nr);
  if (!signature) return 0;
  for (unsigned i = 0; i < signature->argument_count(); ++i)
    if (signature->arguments[i].kind == ArgumentKind::fd) return static_cast<u8>(i + 1);
  return 0;
}

}  // namespace

struct SyscallsProbe::Impl {
  Skeleton<syscalls_bpf> bpf{"syscalls"};
  SyscallsOptions options;
  Mapped cells;
  Link raw_enter, raw_exit, thread_exit, fork, signals, resends;
  std::vector<Link> call_exits;
  bpf_program *enter = nullptr, *exit = nullptr, *ending = nullptr;  ///< see call_hooks()
  bpf_program* hangs = nullptr;  ///< the iterator that reports hangs

  void configure();
  void set_wanted();
  void choose_maps();
  void share(const SharedMaps& shared);
  void attach_all();
  void detach_all();
  void deliver_open(bpf_program* iterator, const RecordHandler& handler);
};

void SyscallsProbe::Impl::set_wanted() {
  std::memset(bpf->bss->wanted, 0, sizeof bpf->bss->wanted);
  if (options.only) copy_bits(*options.only, bpf->bss->wanted);
}

void SyscallsProbe::Impl::configure() {
  auto& rodata = *bpf->rodata;
  rodata.want_cells = options.aggregate && !options.discover_only;
  rodata.cells_by_thread = options.by_thread;
  rodata.want_calls = options.calls;
  rodata.want_callers = options.callers;
  rodata.two_phase = options.two_phase;
  rodata.discover_only = options.discover_only;
  rodata.filtered = options.only.has_value();
  rodata.want_stalls = options.stalls;
  rodata.calls_on_cpu = options.stalls && !options.calls && !options.callers &&
                        !options.two_phase && !options.discover_only;
  rodata.user_stack_bytes =
      static_cast<u32>(std::min<std::size_t>(options.user_stack_bytes, USER_STACK_MAX));
  rodata.cells_per_half = static_cast<u32>(options.cells);
  set_wanted();
  if (options.calls || options.stalls)
    for (u16 abi = 0; abi < ABI_COUNT; ++abi)
      for (u32 nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
        rodata.text_arguments[abi * SYSCALL_TABLE_SIZE + nr] = text_argument_mask(abi, nr);
  if (options.stalls) {
    rodata.tick_ns = static_cast<u64>(tick_length().count());
    for (u32 nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
      rodata.object_arguments[nr] = object_argument(nr);
  }
  limit_to_cpus(rodata, options.cpus);
  check(bpf_map__set_max_entries(bpf->maps.cells, 2 * rodata.cells_per_half),
        "cannot size the cells");
  choose_maps();
  const bool by_events = call_hooks() == CallHooks::events;
  enter = by_events ? bpf->progs.on_entry_event : bpf->progs.on_sys_enter;
  exit = by_events ? bpf->progs.on_exit_event : bpf->progs.on_sys_exit;
  ending = by_events ? bpf->progs.on_ending_event : bpf->progs.on_thread_exit;
  for (bpf_program* hook : {enter, exit, ending}) bpf_program__set_autoload(hook, true);
  bpf_program__set_autoload(bpf->progs.on_call_exit, options.two_phase);
  bpf_program__set_autoload(bpf->progs.find_refusable, options.two_phase || options.discover_only);
  bpf_program__set_autoload(bpf->progs.on_fork, options.callers);
  bpf_program__set_autoload(bpf->progs.on_signal, options.stalls);
  bpf_program__set_autoload(
      bpf->progs.on_resend,
      options.stalls && TracepointTypes().arguments("tcp_retransmit_skb").has_value());
  if (!options.hangs) return;
  use_real_time_limit(rodata);
  rodata.hang_stack_bytes = std::min<u32>(rodata.user_stack_bytes, HANG_STACK_MAX);
  hangs = TracepointTypes().has_function("bpf_copy_from_user_task")
              ? bpf->progs.hanging_calls
              : bpf->progs.hanging_calls_without_stacks;
  bpf_program__set_autoload(hangs, true);
}

void SyscallsProbe::Impl::choose_maps() {
  const auto& maps = bpf->maps;
  const auto leave_out = [](std::initializer_list<bpf_map*> unused) {
    for (bpf_map* map : unused)
      check(bpf_map__set_autocreate(map, false), "cannot leave out a map");
  };
  const auto size = [](bpf_map* map, u32 entries) {
    check(bpf_map__set_max_entries(map, entries), "cannot size a map");
  };
  if (!options.by_thread) leave_out({maps.thread_cells});
  if (!options.calls && !options.stalls) leave_out({maps.thread_text, maps.thread_text_hashed});
  if (options.stalls)
    size(maps.stall_scratch, possible_cpu_count());
  else
    leave_out({maps.ledger_slots, maps.ledgers, maps.ledgers_hashed, maps.cpu_ledgers,
               maps.place_tables, maps.resends, maps.stall_scratch, maps.call_handlers,
               maps.call_handlers_hashed});
  if (options.callers || (options.by_thread && hashed_threads() > 1)) {
    // A small LRU hash forgets entries while it has room.
    size(maps.odd_cells, static_cast<u32>(std::max<std::size_t>(4096, 4 * options.cells)));
  }
  if (options.callers) {
    size(maps.caller_scratch, possible_cpu_count());
  } else {
    leave_out({maps.caller_scratch, maps.frame_rules, maps.code_spaces, maps.stacks_sent});
  }
  if (!options.hangs) leave_out({maps.hang_scratch, maps.throttled_queues});
}

void SyscallsProbe::Impl::share(const SharedMaps& shared) {
  count_latencies(*bpf->rodata, shared);
  share_maps(bpf->obj, shared);
  if (!options.stalls) return;
  check(bpf_map__reuse_fd(bpf->maps.ledger_slots, shared.ledger_slots), "cannot share the ledgers");
  check(bpf_map__reuse_fd(bpf->maps.ledgers, shared.ledgers), "cannot share the ledgers");
  check(bpf_map__reuse_fd(bpf->maps.ledgers_hashed, shared.ledgers_hashed),
        "cannot share the ledgers");
  check(bpf_map__reuse_fd(bpf->maps.cpu_ledgers, shared.cpu_ledgers),
        "cannot share the ledgers of CPUs");
  check(bpf_map__reuse_fd(bpf->maps.place_tables, shared.place_tables),
        "cannot share the places of waits");
  if (options.hangs)
    check(bpf_map__reuse_fd(bpf->maps.throttled_queues, shared.throttled_queues),
          "cannot share the throttled queues");
}

void SyscallsProbe::Impl::attach_all() {
  raw_enter = attach(enter);
  if (options.discover_only) return;
  raw_exit = attach(exit);
  thread_exit = attach(ending);
  if (options.callers) fork = attach(bpf->progs.on_fork);
  if (options.stalls) signals = attach(bpf->progs.on_signal);
  if (bpf_program__autoload(bpf->progs.on_resend)) resends = attach(bpf->progs.on_resend);
}

SyscallsProbe::SyscallsProbe(const SyscallsOptions& options, const SharedMaps& shared)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  if (!impl_->options.aggregate || options.discover_only) impl_->options.cells = 1;
  impl_->configure();
  impl_->share(shared);
  impl_->bpf.load();
  impl_->cells = Mapped(bpf_map__fd(impl_->bpf->maps.cells),
                        whole_pages(2 * impl_->options.cells * sizeof(syscall_cell)),
                        PROT_READ | PROT_WRITE, 0, "the cells");
  impl_->attach_all();
}

SyscallsProbe::~SyscallsProbe() = default;

void SyscallsProbe::drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) {
  const std::uint32_t half = ~epoch & 1;
  const std::size_t size = impl_->options.cells;
  u32& used = impl_->bpf->bss->cells_used[half];
  const std::size_t count = std::min<std::size_t>(__atomic_load_n(&used, __ATOMIC_ACQUIRE), size);
  auto* cells = impl_->cells.as<syscall_cell>() + half * size;
  for (std::size_t i = 0; i < count; ++i) {
    cells[i].header.time_ns = now.time_since_epoch().count();
    if (calls_of(cells[i]) > 0)
      handler(Record{&syscall_cell_schema,
                     {reinterpret_cast<const std::byte*>(&cells[i]), sizeof(syscall_cell)}});
    std::memset(static_cast<void*>(&cells[i]), 0, sizeof(syscall_cell));
  }
  __atomic_store_n(&used, 0, __ATOMIC_RELEASE);
}

double SyscallsProbe::fill(std::uint32_t epoch) const {
  const u32 used = __atomic_load_n(&impl_->bpf->bss->cells_used[epoch & 1], __ATOMIC_RELAXED);
  return static_cast<double>(used) / static_cast<double>(impl_->options.cells);
}

void SyscallsProbe::Impl::detach_all() {
  call_exits.clear();
  fork.reset();
  signals.reset();
  resends.reset();
  thread_exit.reset();
  raw_exit.reset();
  raw_enter.reset();
}

void SyscallsProbe::Impl::deliver_open(bpf_program* iterator, const RecordHandler& handler) {
  run_iterator(
      bpf_program__fd(iterator), "find unfinished calls", sizeof(syscall_open),
      [&](std::span<const std::byte> record) { handler(Record{&syscall_open_schema, record}); });
}

void SyscallsProbe::finish(KernelTime end, const RecordHandler& handler) {
  if (!impl_->options.discover_only) {
    impl_->bpf->bss->end_ns = end.time_since_epoch().count();
    if (impl_->options.stalls) {
      __atomic_store_n(&impl_->bpf->data_control->control.calls_stay, 1, __ATOMIC_SEQ_CST);
      wait_for_running_programs();
    }
    impl_->deliver_open(impl_->bpf->progs.claim_calls, handler);
    // When this returns, an exit hook that saw its call before the claim has ended the call. A
    // later exit hook sees the claim.
    wait_for_running_programs();
    impl_->deliver_open(impl_->bpf->progs.open_calls, handler);
  }
  impl_->detach_all();
}

const Schema* SyscallsProbe::schema(std::uint16_t kind) const {
  if (kind == syscall_call_schema.id) return &syscall_call_schema;
  if (kind == caller_stack_schema.id) return &caller_stack_schema;
  if (kind == signal_handler_schema.id) return &signal_handler_schema;
  if (kind == call_object_schema.id) return &call_object_schema;
  if (kind == sched_throttle_schema.id) return &sched_throttle_schema;
  return kind == span_schema.id ? &span_schema : nullptr;
}

Counters SyscallsProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

void SyscallsProbe::begin_calibration() {
  impl_->bpf->bss->wanted[SYS_getppid / 64] |= u64{1} << (SYS_getppid % 64);
  impl_->bpf->bss->calibrating = 1;
}

void SyscallsProbe::end_calibration() {
  impl_->set_wanted();
  impl_->bpf->bss->calibrating = 0;
  clear_counters(bpf_map__fd(impl_->bpf->maps.counters));
  std::memset(impl_->bpf->bss->discovered, 0, sizeof impl_->bpf->bss->discovered);
  impl_->bpf->bss->refusable_ns = 0;
}

SyscallSet SyscallsProbe::discovered() const {
  return to_set(impl_->bpf->bss->discovered);
}

SyscallSet SyscallsProbe::late() const {
  return to_set(impl_->bpf->bss->late_seen);
}

void SyscallsProbe::set_threshold(u32 nr, Duration threshold) {
  if (nr >= SYSCALL_TABLE_SIZE) return;
  __atomic_store_n(&impl_->bpf->bss->call_threshold_ns[nr], static_cast<u64>(threshold.count()),
                   __ATOMIC_RELAXED);
}

void SyscallsProbe::look_for_hangs(Duration age, const RecordHandler& handler) {
  if (!impl_->hangs) return;
  impl_->bpf->bss->hang_after_ns = static_cast<u64>(age.count());
  const auto read = [&](std::span<const std::byte> output) {
    std::span<const std::byte> rest = output;
    while (rest.size() >= sizeof(event_header)) {
      event_header header;
      std::memcpy(&header, rest.data(), sizeof header);
      if (header.size < sizeof header || header.size > rest.size()) break;
      if (const Schema* of_record = schema(header.kind))
        handler(Record{of_record, rest.first(header.size)});
      rest = rest.subspan(header.size);
    }
    return output.size() - rest.size();
  };
  run_iterator(bpf_program__fd(impl_->hangs), "look for calls that hang", read);
}

bool SyscallsProbe::hangs_have_user_stacks() const {
  return impl_->hangs == impl_->bpf->progs.hanging_calls;
}

void SyscallsProbe::learn(const frame_key& frame, const frame_rule& rule) {
  // If this fails, the stack is copied again.
  bpf_map_update_elem(bpf_map__fd(impl_->bpf->maps.frame_rules), &frame, &rule, BPF_ANY);
}

void SyscallsProbe::attach_exit(u32 nr, const std::string& tracepoint) {
  impl_->call_exits.push_back(
      attach_tracepoint(impl_->bpf->progs.on_call_exit, "syscalls", "sys_exit_" + tracepoint));
  if (nr < SYSCALL_TABLE_SIZE)
    __atomic_or_fetch(&impl_->bpf->bss->late_timed[nr / 64], u64{1} << (nr % 64), __ATOMIC_RELEASE);
}

void SyscallsProbe::detach_call_exits() {
  impl_->call_exits.clear();
}

void SyscallsProbe::detach_raw_exit() {
  impl_->raw_exit.reset();
}

std::optional<KernelTime> SyscallsProbe::refusable_since() const {
  const u64 since_ns = __atomic_load_n(&impl_->bpf->bss->refusable_ns, __ATOMIC_RELAXED);
  if (since_ns == 0) return std::nullopt;
  return KernelTime(Duration(since_ns));
}

void SyscallsProbe::look_for_filters() {
  run_iterator(bpf_program__fd(impl_->bpf->progs.find_refusable), "look for seccomp filters");
}

void SyscallsProbe::attach_raw_exit() {
  if (!impl_->raw_exit) impl_->raw_exit = attach(impl_->exit);
}

}  // namespace overdue
