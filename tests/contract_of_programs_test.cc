// Checks what the kernel says of every BPF program and map.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

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

/// Every program that there is, in the kernel as long as this object lives, in its costliest forms.
class EveryProgram {
 public:
  /// The programs of all kinds at once are more than the 1,024 files of an ordinary limit.
  EveryProgram() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    sessions_ = sessions_of_every_kind();
    stalls_ = session_of_stalls();
    const SharedMaps maps = sessions_[0]->session.membership().maps();
    for (const bool has_work : {true, false})
      scheds_.push_back(std::make_unique<SchedProbe>(
          maps, SchedOptions{.user_stack_bytes = USER_STACK_MAX, .use_task_work = has_work}));
    scheds_.push_back(std::make_unique<SchedProbe>(maps));
  }

 private:
  std::vector<std::unique_ptr<Measuring>> sessions_;
  std::unique_ptr<Session> stalls_;
  std::vector<std::unique_ptr<SchedProbe>> scheds_;
};

class ContractOfPrograms : public KernelTest {
 public:
  static void TearDownTestSuite() { programs.reset(); }

 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (!IsSkipped() && !programs) programs = std::make_unique<EveryProgram>();
  }

 private:
  static std::unique_ptr<EveryProgram> programs;  // loaded once: the verifier takes seconds
};
std::unique_ptr<EveryProgram> ContractOfPrograms::programs;

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
