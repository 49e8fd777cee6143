// Checks the promises of every probe, so that a new probe is tested before its author has written a
// test.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/probe.h"
#include "kernel/features.h"
#include "kernel/latency_counts.h"
#include "probes/app_timers/probe.h"
#include "probes/osnoise/probe.h"
#include "probes/profile/probe.h"
#include "probes/sched/probe.h"
#include "probes/spans.h"
#include "probes/syscalls/probe_fixture.h"
#include "probes/timerlat/probe.h"
#include "probes/worst/probe.h"
#include "probes/worst/sections.h"

namespace overdue {
namespace {

bool is_snake_case(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
  return !name.empty() && letters.find(name.front()) != letters.npos && name.back() != '_' &&
         name.find("__") == name.npos &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

/// A sentence for people: not empty, on one line, without a full stop at the end.
void expect_help(std::string_view text, std::string_view of) {
  EXPECT_FALSE(text.empty()) << of;
  if (text.empty()) return;
  EXPECT_EQ(text.find('\n'), text.npos) << of;
  EXPECT_NE(text.back(), '.') << of;
  EXPECT_NE(text.back(), ' ') << of;
}

TEST(Contract, EveryProbeHasANameASummaryAManualAndSchemas) {
  std::set<std::string_view> names;
  ASSERT_FALSE(all_probes().empty());
  for (const ProbeInfo* probe : all_probes()) {
    EXPECT_TRUE(is_snake_case(probe->name)) << probe->name;
    EXPECT_TRUE(names.insert(probe->name).second) << "twice: " << probe->name;
    expect_help(probe->summary, probe->name);
    EXPECT_GT(probe->manual.size(), 200u) << probe->name;
    EXPECT_EQ(probe->manual.front(), '#') << probe->name << ": a manual begins with its title";
    EXPECT_FALSE(probe->schemas.empty()) << probe->name;
    ASSERT_NE(probe->support, nullptr) << probe->name;
  }
}

TEST(Contract, EverySupportThatIsNoSaysWhyAndWhatWouldChangeIt) {
  const Kernel kernel;
  for (const ProbeInfo* probe : all_probes()) {
    const Support support = probe->support(kernel);
    if (support.yes) continue;
    EXPECT_FALSE(support.missing.empty()) << probe->name;
    EXPECT_FALSE(support.remedy.empty()) << probe->name;
  }
}

TEST(Contract, EverySchemaHasItsOwnIdAndName) {
  std::set<u16> ids;
  std::set<std::string_view> names;
  for (const Schema* schema : all_schemas()) {
    EXPECT_NE(schema->id, 0) << schema->name;
    EXPECT_TRUE(ids.insert(schema->id).second) << "id twice: " << schema->id;
    EXPECT_TRUE(names.insert(schema->name).second) << "name twice: " << schema->name;
    EXPECT_TRUE(is_snake_case(schema->name)) << schema->name;
    EXPECT_EQ(find_schema(schema->id), schema);
    EXPECT_EQ(schema->size % 8, 0) << schema->name << ": records lie one behind the other";
    expect_help(schema->help, schema->name);
  }
  EXPECT_EQ(find_schema(0), nullptr);
  EXPECT_EQ(find_schema(UINT16_MAX), nullptr);
}

TEST(Contract, FieldsLieBehindTheHeaderInsideTheRecordAndApart) {
  for (const Schema* schema : all_schemas()) {
    std::vector<const Field*> owner(schema->size, nullptr);
    for (const Field& field : schema->fields) {
      SCOPED_TRACE(fmt::format("{}.{}", schema->name, field.name));
      EXPECT_GT(field.size, 0);
      EXPECT_GE(field.offset, sizeof(event_header));
      ASSERT_LE(field.offset + field.size, schema->size);
      for (std::size_t at = field.offset; at < std::size_t{field.offset} + field.size; ++at) {
        EXPECT_EQ(owner[at], nullptr) << "shares bytes with " << owner[at]->name;
        owner[at] = &field;
      }
    }
  }
}

std::set<std::size_t> sizes_of(Unit unit) {
  switch (unit) {
    case Unit::nanoseconds:
    case Unit::cgroup:
    case Unit::result:
      return {8};
    case Unit::pid:
    case Unit::tid:
    case Unit::cpu:
    case Unit::syscall:
      return {4};
    case Unit::abi:
      return {2};
    case Unit::none:
    case Unit::count:
    case Unit::bytes:
      return {1, 2, 4, 8};
    case Unit::histogram:
      return {sizeof(latency_histogram)};
    case Unit::text:
    case Unit::opaque:
      return {};
  }
  return {};
}

TEST(Contract, FieldsAreNamedForTheirUnitAndExplained) {
  for (const Schema* schema : all_schemas()) {
    std::set<std::string_view> names{"time_ns", "cgroup_id", "pid", "tid",
                                     "kind",    "size",      "cpu", "comm"};
    for (const Field& field : schema->fields) {
      SCOPED_TRACE(fmt::format("{}.{}", schema->name, field.name));
      EXPECT_TRUE(is_snake_case(field.name));
      EXPECT_TRUE(names.insert(field.name).second) << "twice, or the name of a header field";
      EXPECT_EQ(field.name.ends_with("_ns"), field.unit == Unit::nanoseconds);
      EXPECT_EQ(field.name.ends_with("_bytes") || field.name.ends_with("_size"),
                field.unit == Unit::bytes);
      const std::set<std::size_t> sizes = sizes_of(field.unit);
      EXPECT_TRUE(sizes.empty() || sizes.contains(field.size)) << field.size << " bytes";
      if (field.role == Role::duration) {
        EXPECT_TRUE(field.unit == Unit::nanoseconds || field.unit == Unit::histogram);
      }
      expect_help(field.help, field.name);
    }
  }
}

/// Takes all fields: a visit of arbitrary bytes must not read beyond them.
class Nowhere final : public FieldVisitor {
 public:
  void number(std::string_view name, std::uint64_t, Unit) override { see(name); }
  void result(std::string_view name, std::int64_t, std::string_view) override { see(name); }
  void text(std::string_view name, std::string_view value) override {
    see(name);
    bytes += value.size();
  }
  void list(std::string_view name, std::span<const std::string_view>) override { see(name); }
  std::set<std::string> names;
  std::size_t bytes = 0;

 private:
  void see(std::string_view name) { names.emplace(name); }
};

TEST(Contract, EveryRecordCanBeVisitedCutShortOrFilledWithAnything) {
  for (const Schema* schema : all_schemas()) {
    for (const int fill : {0x00, 0x01, 0x7f, 0xff}) {
      for (const std::size_t size : {std::size_t{schema->size}, std::size_t{schema->size} + 512,
                                     sizeof(event_header), std::size_t{schema->size} / 2}) {
        // The block has the exact size, so that a sanitizer sees a read beyond it.
        const std::vector<std::byte> bytes(size, static_cast<std::byte>(fill));
        Nowhere visitor;
        visit_record(Record{schema, bytes}, {}, visitor);
        EXPECT_TRUE(visitor.names.contains("tid")) << schema->name;
        for (const std::string& name : visitor.names) EXPECT_TRUE(is_snake_case(name)) << name;
      }
    }
  }
}

/// The maps of a session that counts the latencies of all spans.
SharedMaps counting_maps(Session& session) {
  static const LatencyCounts counts(~u32{0});
  SharedMaps maps = session.membership().maps();
  counts.add_to(maps);
  return maps;
}

void add_span_probes(Measuring& measuring, const SpanOptions& options) {
  const Kernel kernel;
  for (const SpanSource* source : span_sources())
    measuring.session.add(source->make(options, counting_maps(measuring.session), kernel));
}

/// A session for explained stalls and for calls that hang.
std::unique_ptr<Session> session_of_stalls() {
  auto session = std::make_unique<Session>(MembershipRules{}, 1 << 16);
  auto sched = std::make_unique<SchedProbe>(counting_maps(*session),
                                            SchedOptions{.user_stack_bytes = USER_STACK_MAX});
  SyscallsOptions options = figures(Figures::calls, only_these({1}));
  options.stalls = options.hangs = true;
  options.user_stack_bytes = USER_STACK_MAX;
  auto calls = std::make_unique<SyscallsProbe>(options, sched->maps());
  session->add(std::move(sched));
  session->add(std::move(calls));
  return session;
}

/// Sessions that load every program there is, each in its costliest form.
std::vector<std::unique_ptr<Measuring>> sessions_of_every_kind() {
  std::vector<std::unique_ptr<Measuring>> sessions;
  for (const Figures kind : {Figures::by_cpu, Figures::by_thread, Figures::calls,
                             Figures::calls_and_by_thread, Figures::discovery}) {
    SyscallsOptions options = figures(kind, only_these({1}));
    options.cpus = {0};
    options.two_phase = kind != Figures::discovery;
    MembershipRules rules;
    rules.name_globs.assign(TARGET_GLOBS, "*a*b?c*");
    rules.cgroup_ids.assign(TARGET_CGROUPS, 1);
    rules.cgroup_hierarchy = kind == Figures::by_cpu ? 0 : 1;
    sessions.push_back(std::make_unique<Measuring>(rules, options, 1 << 16));
  }
  add_span_probes(*sessions[0], {.whole_machine = true, .cpus = {0}});
  add_span_probes(*sessions[1], {.cpus = {0}});
  const Duration second = std::chrono::seconds(1);
  sessions[2]->session.add(std::make_unique<TimerlatProbe>(
      TimerlatOptions{
          .stop_irq = second, .stop_total = second, .stop_user = second, .stack_over = second},
      sessions[2]->session.membership().maps()));
  sessions[3]->session.add(
      std::make_unique<AppTimersProbe>(sessions[3]->session.membership().maps(),
                                       AppTimersOptions{.stack_over = second, .cpus = {0}}));
  Session& session = sessions[2]->session;
  session.add(std::make_unique<WorstProbe>(WorstOptions{.events = true, .cpus = {0}},
                                           session.membership().maps()));
  session.add(std::make_unique<SectionsProbe>(
      WorstOptions{.tracer = WORST_PREEMPTIRQSOFF, .cpus = {0}}, session.membership().maps()));
  session.add(std::make_unique<ProfileProbe>(
      ProfileOptions{.rate_hz = 1, .user_stack_bytes = USER_STACK_MAX, .cpus = {0}},
      session.membership().maps()));
  static BusyThreads no_threads({.cpus = {}, .origins = true});
  session.add(std::make_unique<OsnoiseProbe>(no_threads, session.membership().maps(), 1));
  return sessions;
}

class ContractOfPrograms : public KernelTest {
 protected:
  /// The programs of all kinds at once are more than the 1,024 files of an ordinary limit.
  ContractOfPrograms() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
};

std::filesystem::path budget_file() {
  const char* source = std::getenv("OVERDUE_SOURCE");
  return std::filesystem::path(source ? source : "..") / "tests" / "verifier_budget.txt";
}

/// Kernel series, such as "6.18": the verifier's work differs between kernels.
std::string kernel_series() {
  utsname name{};
  uname(&name);
  const std::string release = name.release;
  const std::size_t minor = release.find('.') + 1;
  return release.substr(0, release.find_first_not_of("0123456789", minor));
}

/// Number of instructions that the verifier processed, by program: the maximum of all sessions.
std::map<std::string, std::uint32_t> verified_instructions() {
  const auto sessions = sessions_of_every_kind();
  const auto stalls = session_of_stalls();
  std::map<std::string, std::uint32_t> verified;
  for (const std::uint32_t id : own_bpf_objects().programs) {
    const Fd program(bpf_prog_get_fd_by_id(id));
    bpf_prog_info info{};
    __u32 size = sizeof info;
    check(bpf_obj_get_info_by_fd(program.get(), &info, &size), "cannot ask about a program");
    std::uint32_t& most = verified[info.name];
    most = std::max(most, info.verified_insns);
  }
  return verified;
}

TEST_F(ContractOfPrograms, PassTheVerifierOfThisKernel) {
  const auto verified = verified_instructions();
  ASSERT_GE(verified.size(), 10u);
  for (const auto& [name, count] : verified)
    EXPECT_LT(count, 500'000u) << name << ": half of what any kernel allows";
}

TEST_F(ContractOfPrograms, StayWithinTheirVerifierBudget) {
  const auto verified = verified_instructions();
  if (std::getenv("OVERDUE_UPDATE_GOLDEN")) {
    std::ofstream file(budget_file());
    file << "# Instructions the verifier goes through per program; contract_test fails beyond 10 % "
            "more.\n# To accept new figures: OVERDUE_UPDATE_GOLDEN=1 ctest --preset release -R "
            "contract\n"
         << "kernel " << kernel_series() << '\n';
    for (const auto& [name, count] : verified) file << name << ' ' << count << '\n';
    ASSERT_TRUE(file.flush().good()) << "cannot write " << budget_file();
    return;
  }
  std::ifstream file(budget_file());
  ASSERT_TRUE(file.good()) << "cannot read " << budget_file()
                           << " (set OVERDUE_SOURCE to the source tree)";
  std::map<std::string, std::uint32_t> budget;
  std::string series;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (line.starts_with('#') || !(words >> name)) continue;
    name == "kernel" ? words >> series : words >> budget[name];
  }
  if (series != kernel_series())
    GTEST_SKIP() << "the budget is that of Linux " << series << ", this is " << kernel_series();
  for (const auto& [name, count] : verified) {
    ASSERT_TRUE(budget.contains(name))
        << name << " has no budget; accept " << count << " with OVERDUE_UPDATE_GOLDEN=1";
    EXPECT_LE(count, budget[name] + budget[name] / 10 + 10)
        << name << ": over its budget of " << budget[name]
        << "; where that is meant, run this test with OVERDUE_UPDATE_GOLDEN=1";
  }
  for (const auto& [name, count] : budget)
    EXPECT_TRUE(verified.contains(name)) << name << " has a budget and does not exist";
}

/// Ids of the maps that a verified program uses, without the maps of branches that the verifier has
/// removed for this kernel.
std::set<std::uint32_t> maps_in_use(std::uint32_t program_id) {
  const Fd program(bpf_prog_get_fd_by_id(program_id));
  bpf_prog_info info{};
  __u32 size = sizeof info;
  check(bpf_obj_get_info_by_fd(program.get(), &info, &size), "cannot ask about a program");
  std::vector<bpf_insn> code(info.xlated_prog_len / sizeof(bpf_insn));
  bpf_prog_info wanted{};
  wanted.xlated_prog_len = info.xlated_prog_len;
  wanted.xlated_prog_insns = reinterpret_cast<std::uintptr_t>(code.data());
  check(bpf_obj_get_info_by_fd(program.get(), &wanted, &size), "cannot read a program");
  std::set<std::uint32_t> maps;
  for (const bpf_insn& insn : code)
    if (insn.code == (BPF_LD | BPF_IMM | BPF_DW) &&
        (insn.src_reg == BPF_PSEUDO_MAP_FD || insn.src_reg == BPF_PSEUDO_MAP_VALUE))
      maps.insert(static_cast<std::uint32_t>(insn.imm));
  return maps;
}

// With PREEMPT_RT, an allocator's locks sleep: a BPF program with task storage can end the machine.
TEST_F(ContractOfPrograms, KeepThreadsInTablesWithPreemptRtAndInTaskStorageWithout) {
  const auto sessions = sessions_of_every_kind();
  const SharedMaps maps = sessions[0]->session.membership().maps();
  const SchedProbe sched(maps);
  const SchedProbe with_work(maps, {.user_stack_bytes = USER_STACK_MAX});
  const SchedProbe with_exits(maps, {.user_stack_bytes = USER_STACK_MAX, .use_task_work = false});
  const bool rt = Kernel().preempt_rt();
  std::set<std::uint32_t> used;
  for (const std::uint32_t id : own_bpf_objects().programs) used.merge(maps_in_use(id));
  unsigned storages = 0, tables = 0;
  for (const std::uint32_t id : used) {
    const Fd map(bpf_map_get_fd_by_id(id));
    bpf_map_info info{};
    __u32 size = sizeof info;
    check(bpf_obj_get_info_by_fd(map.get(), &info, &size), "cannot ask about a map");
    storages += info.type == BPF_MAP_TYPE_TASK_STORAGE;
    tables += std::string_view(info.name).ends_with("_hashed");
  }
  EXPECT_EQ(storages > 0, !rt);
  EXPECT_EQ(tables > 0, rt);
}

TEST_F(ContractOfPrograms, EveryMapIsBounded) {
  const auto sessions = sessions_of_every_kind();
  const BpfObjects objects = own_bpf_objects();
  ASSERT_GE(objects.maps.size(), 10u);
  for (const std::uint32_t id : objects.maps) {
    const Fd map(bpf_map_get_fd_by_id(id));
    bpf_map_info info{};
    __u32 size = sizeof info;
    check(bpf_obj_get_info_by_fd(map.get(), &info, &size), "cannot ask about a map");
    if (info.type == BPF_MAP_TYPE_TASK_STORAGE) {
      // The number of threads bounds the entries; the size of an entry matters.
      EXPECT_LE(info.value_size, 4'096u) << info.name;
      continue;
    }
    EXPECT_GT(info.max_entries, 0u) << info.name;
    EXPECT_LE(info.max_entries, 1u << 20) << info.name;
    const std::uint64_t bytes =
        std::uint64_t{info.max_entries} * (std::uint64_t{info.key_size} + info.value_size);
    EXPECT_LE(bytes, 64u << 20) << info.name;
  }
}

}  // namespace
}  // namespace overdue
