#include "kernel/membership.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/call_hooks.h"
#include "kernel/glob.h"
#include "kernel/program_runs.h"
#include "kernel/skeleton.h"
#include "membership.skel.h"

namespace overdue {
namespace {

void set_name_globs(membership_bpf& bpf, const std::vector<std::string>& globs) {
  if (globs.size() > TARGET_GLOBS)
    throw Error("too many thread-name patterns: {} given, {} possible", globs.size(), TARGET_GLOBS)
        .hint("join some with '*'")
        .exit_status(2);
  for (std::size_t i = 0; i < globs.size(); ++i) bpf.rodata->globs[i] = compile_glob(globs[i]);
  bpf.rodata->glob_count = static_cast<u32>(globs.size());
}

void set_cgroups(membership_bpf& bpf, const MembershipRules& rules) {
  if (rules.cgroup_ids.size() > TARGET_CGROUPS)
    throw Error("too many cgroups: {} given, {} possible", rules.cgroup_ids.size(), TARGET_CGROUPS)
        .hint("name a common parent: everything below it counts")
        .exit_status(2);
  for (std::size_t i = 0; i < rules.cgroup_ids.size(); ++i)
    bpf.rodata->cgroup_ids[i] = rules.cgroup_ids[i];
  bpf.rodata->cgroup_count = static_cast<u32>(rules.cgroup_ids.size());
  bpf.rodata->cgroup_hierarchy = rules.cgroup_hierarchy;
  bpf_program__set_autoload(bpf.progs.follow_moves, rules.cgroup_hierarchy >= 0);
}

void add_ids(int map, const std::vector<std::uint32_t>& ids, u32 kind) {
  for (const std::uint32_t id : ids) {
    u32 known = 0;
    bpf_map_lookup_elem(map, &id, &known);
    known |= kind;
    check(bpf_map_update_elem(map, &id, &known, BPF_ANY),
          "cannot tell the kernel about process {} (limit: {})", id, TARGET_IDS_MAX);
  }
}

std::uint32_t thread_group_id() {
  return static_cast<std::uint32_t>(getpid());
}

}  // namespace

struct Membership::Impl {
  Skeleton<membership_bpf> bpf{"membership"};
  std::vector<Link> links;
  std::vector<bpf_program*> hooks;
  bool watches_cgroups = false;
  u32 moves_followed = 0;

  void choose_hooks();
  void attach_hooks();
};

void Membership::Impl::choose_hooks() {
  const auto& of = bpf->progs;
  hooks = {of.on_fork, of.on_rename, of.on_exit, of.on_free};
  if (call_hooks() == CallHooks::events)
    hooks = {of.on_fork_event, of.on_rename_event, of.on_exit_event, of.on_free};
  if (watches_cgroups) hooks.push_back(of.on_cgroup_attach);
  for (bpf_program* hook : hooks) bpf_program__set_autoload(hook, true);
}

void Membership::Impl::attach_hooks() {
  for (bpf_program* hook : hooks) links.push_back(attach(hook));
}

Membership::Membership(const MembershipRules& rules, std::size_t ring_bytes)
    : impl_(std::make_unique<Impl>()), cgroup_hierarchy_(rules.cgroup_hierarchy) {
  membership_bpf& bpf = *impl_->bpf;
  bpf.rodata->target_all = rules.all;
  bpf.rodata->follow_children = rules.follow_children;
  bpf.rodata->adopt_children = rules.adopt_children;
  bpf.rodata->leave_children_out = rules.leave_children_out;
  bpf.rodata->own_pid = thread_group_id();
  bpf.rodata->loaded_ns = KernelClock::now_ns();
  set_name_globs(bpf, rules.name_globs);
  set_cgroups(bpf, rules);
  impl_->watches_cgroups = rules.cgroup_hierarchy >= 0;
  impl_->choose_hooks();
  const std::uint32_t cpus = possible_cpu_count();
  check(bpf_map__set_max_entries(bpf.maps.rings, cpus), "cannot size the map of rings");
  check(bpf_map__set_max_entries(bpf.maps.threads_hashed, hashed_threads()), "cannot size a map");
  impl_->bpf.load();
  const int ids = bpf_map__fd(bpf.maps.target_ids);
  add_ids(ids, rules.pids, TARGET_PROCESS);
  add_ids(ids, rules.tids, TARGET_THREAD);
  add_ids(ids, rules.gated_pids, TARGET_PROCESS | TARGET_GATED);
  if (ring_bytes > 0)
    rings_ = std::make_unique<RingSet>(bpf_map__fd(bpf.maps.rings), cpus, ring_bytes);
}

Membership::~Membership() = default;

void Membership::detach() {
  impl_->links.clear();
}

SharedMaps Membership::maps() const {
  const auto& maps = impl_->bpf->maps;
  return {.control = bpf_map__fd(maps.data_control),
          .rings = bpf_map__fd(maps.rings),
          .threads = bpf_map__fd(maps.threads),
          .threads_hashed = bpf_map__fd(maps.threads_hashed),
          .python_runtimes = bpf_map__fd(maps.python_runtimes)};
}

// A program without room for its entry has stacks without Python's frames.
void Membership::add_python(const python_program& program, const python_runtime& runtime) {
  bpf_map_update_elem(maps().python_runtimes, &program, &runtime, BPF_ANY);
}

session_control& Membership::control() const {
  return impl_->bpf->data_control->control;
}

void Membership::adopt_existing() {
  if (impl_->links.empty()) impl_->attach_hooks();
  run_iterator(bpf_program__fd(impl_->bpf->progs.adopt_existing), "adopt the target's threads");
}

void Membership::adopt_self() {
  run_iterator(bpf_program__fd(impl_->bpf->progs.adopt_self), "adopt ourselves for calibration");
}

void Membership::release_self() {
  run_iterator(bpf_program__fd(impl_->bpf->progs.release_self), "stop measuring ourselves");
  __atomic_fetch_add(&control().releases, 1, __ATOMIC_SEQ_CST);
}

void Membership::follow_moves() {
  if (!impl_->watches_cgroups) return;
  const u32 moves = __atomic_load_n(&control().moves, __ATOMIC_ACQUIRE);
  if (moves == impl_->moves_followed) return;
  impl_->moves_followed = moves;  // a move during the iterator is for the next call
  run_iterator(bpf_program__fd(impl_->bpf->progs.follow_moves),
               "follow the target's threads into their cgroups");
}

std::vector<member> Membership::members() const {
  const std::string bytes =
      run_iterator(bpf_program__fd(impl_->bpf->progs.list_members), "list the target's threads");
  std::vector<member> members(bytes.size() / sizeof(member));
  if (!members.empty()) std::memcpy(members.data(), bytes.data(), members.size() * sizeof(member));
  return members;
}

CpuUse Membership::cpu_use() const {
  Counters ended = counters();
  CpuUse use{.time_ns = ended[COUNTER_CPU_NS], .departures = ended[COUNTER_DEPARTURES]};
  for (const member& thread : members()) {
    use.time_ns += thread.cpu_ns;
    use.departures += thread.departures;
  }
  return use;
}

Counters Membership::counters() const {
  return read_counters(impl_->bpf->obj);
}

void Membership::reset_counters() {
  clear_counters(bpf_map__fd(impl_->bpf->maps.counters));
}

void share_maps(bpf_object* object, const SharedMaps& shared) {
  for (const auto& [name, fd] : {std::pair{".data.control", shared.control},
                                 {"rings", shared.rings},
                                 {"threads", shared.threads},
                                 {"threads_hashed", shared.threads_hashed}})
    check(bpf_map__reuse_fd(bpf_object__find_map_by_name(object, name), fd),
          "cannot share the map {}", name);
  if (bpf_map* const runtimes = bpf_object__find_map_by_name(object, "python_runtimes"))
    check(bpf_map__reuse_fd(runtimes, shared.python_runtimes), "cannot share Python's runtimes");
  if (bpf_map* const latencies = bpf_object__find_map_by_name(object, "latencies"))
    check(shared.latencies >= 0 ? bpf_map__reuse_fd(latencies, shared.latencies)
                                : bpf_map__set_autocreate(latencies, false),
          "cannot share the counted latencies");
  if (bpf_map* const sums = bpf_object__find_map_by_name(object, "span_sums"))
    check(shared.span_sums >= 0 ? bpf_map__reuse_fd(sums, shared.span_sums)
                                : bpf_map__set_autocreate(sums, false),
          "cannot share the sums of spans");
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    const std::string_view name = bpf_map__name(map);
    if (name.ends_with("_hashed") && name != "threads_hashed")
      check(bpf_map__set_max_entries(map, hashed_threads()), "cannot size the map {}", name);
  }
}

void share_ledgers(bpf_object* object, const SharedMaps& shared) {
  for (const auto& [name, fd] : {std::pair{"ledger_slots", shared.ledger_slots},
                                 {"ledgers", shared.ledgers},
                                 {"ledgers_hashed", shared.ledgers_hashed},
                                 {"cpu_ledgers", shared.cpu_ledgers}}) {
    bpf_map* const map = bpf_object__find_map_by_name(object, name);
    check(fd >= 0 ? bpf_map__reuse_fd(map, fd) : bpf_map__set_autocreate(map, false),
          "cannot share the map {}", name);
  }
}

std::uint32_t hashed_threads() {
  utsname names{};
  const bool rt = uname(&names) == 0 && std::strstr(names.version, "PREEMPT_RT") != nullptr;
  return rt ? 16'384 : 1;
}

Counters read_counters(const bpf_object* object) {
  const int map = bpf_object__find_map_fd_by_name(object, "counters");
  Counters result;
  std::vector<u64> per_cpu(possible_cpu_count());
  for (u32 i = 0; i < COUNTER_COUNT; ++i) {
    if (bpf_map_lookup_elem(map, &i, per_cpu.data()) != 0) continue;
    std::uint64_t sum = 0;
    for (const u64 value : per_cpu) sum += value;
    result[static_cast<session_counter>(i)] = sum;
  }
  add_program_counters(result, object);
  return result;
}

void add_program_counters(Counters& counters, const bpf_object* object) {
  const KernelAccount account = kernels_account(object);
  counters[COUNTER_NESTED] += account.missed;
  counters[COUNTER_STATS_RUNS] += account.runs;
  counters[COUNTER_STATS_NS] += account.ns;
  const ProgramRuns runs = program_runs(object);
  counters[COUNTER_RUNS] += runs.runs;
  counters[COUNTER_RUN_NS] += static_cast<std::uint64_t>(runs.ns);
  counters[COUNTER_RUN_TARGET_NS] += static_cast<std::uint64_t>(runs.target_ns);
  counters[COUNTER_RUN_VARIANCE] += static_cast<std::uint64_t>(runs.variance);
}

void clear_counters(int counters_map_fd) {
  const std::vector<u64> zeros(possible_cpu_count());
  for (u32 i = 0; i < COUNTER_COUNT; ++i)
    bpf_map_update_elem(counters_map_fd, &i, zeros.data(), BPF_ANY);
}

void run_iterator(int program_fd, const char* what, const OutputReader& reader) {
  const Fd link(check(bpf_link_create(program_fd, 0, BPF_TRACE_ITER, nullptr), "cannot {}", what));
  const Fd iterator(check(bpf_iter_create(link.get()), "cannot {}", what));
  std::array<std::byte, 128u << 10> buffer;  // the kernel's own has 32 KiB
  std::size_t kept = 0;                      // the begin of a record
  while (true) {
    const ssize_t length = read(iterator.get(), buffer.data() + kept, buffer.size() - kept);
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    check_errno(static_cast<int>(length), "cannot {}", what);
    if (length == 0) return;
    const std::size_t all = kept + static_cast<std::size_t>(length);
    const std::size_t taken = reader(std::span(buffer).first(all));
    kept = all - taken;
    if (kept == buffer.size()) throw Error("cannot {}: a record is too long", what);
    std::memmove(buffer.data(), buffer.data() + taken, kept);
  }
}

void run_iterator(int program_fd, const char* what, std::size_t size,
                  const std::function<void(std::span<const std::byte>)>& record) {
  run_iterator(program_fd, what, [&](std::span<const std::byte> output) {
    std::size_t at = 0;
    for (; at + size <= output.size(); at += size) record(output.subspan(at, size));
    return at;
  });
}

std::string run_iterator(int program_fd, const char* what) {
  std::string output;
  run_iterator(program_fd, what, [&](std::span<const std::byte> piece) {
    output.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return piece.size();
  });
  return output;
}

std::uint32_t possible_cpu_count() {
  return static_cast<std::uint32_t>(check(libbpf_num_possible_cpus(), "cannot count the CPUs"));
}

void wait_for_running_programs() {
  // A grace period: tracing programs run with preemption disabled, and membarrier() waits until
  // every CPU has been preemptible once.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return;
  // Not available with nohz_full. A program runs for microseconds; the sleep is three orders of
  // magnitude longer.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace overdue
