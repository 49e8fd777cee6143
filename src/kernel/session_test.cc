#include "kernel/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "kernel/child_fixture.h"
#include "kernel/skeleton.h"
#include "nested_program.skel.h"
#include "slow_program.skel.h"

namespace overdue {
namespace {

using SessionTest = KernelTest;

/// A probe that logs the session's calls.
class RecordingProbe final : public LiveProbe {
 public:
  RecordingProbe(std::vector<std::string>& log, const session_control& control)
      : log_(log), control_(control) {}
  Epoch epoch() const override { return word; }
  void drain_cells(std::uint32_t epoch, KernelTime, const RecordHandler&) override {
    EXPECT_EQ(epoch, control_.*word);  // programs already write to the other half
    log_.push_back("drain");
  }
  double fill(std::uint32_t) const override { return full ? 1 : 0; }
  void finish(KernelTime, const RecordHandler&) override {
    EXPECT_EQ(control_.armed, 0u);
    log_.push_back("finish");
  }
  const Schema* schema(std::uint16_t) const override { return known; }
  Counters counters() const override {
    return {{COUNTER_RING_FULL, 1},
            {COUNTER_CELLS_FULL, 2},
            {COUNTER_TASK_STORAGE, 3},
            {COUNTER_UNMATCHED, 5},
            {COUNTER_CUT, 6}};
  }
  void begin_calibration() override {
    log_.push_back("begin_calibration");
    if (while_calibrating) while_calibrating();
  }
  void end_calibration() override { log_.push_back("end_calibration"); }

  Epoch word = &session_control::epoch;
  bool full = false;
  const Schema* known = nullptr;
  std::function<void()> while_calibrating;

 private:
  std::vector<std::string>& log_;
  const session_control& control_;
};

TEST_F(SessionTest, AsksItsProbesInOrder) {
  std::vector<std::string> log;
  Session session({}, 0);
  const session_control& control = session.membership().control();
  auto probe = std::make_unique<RecordingProbe>(log, control);
  RecordingProbe& asked = *probe;
  session.add(std::move(probe));
  const RecordHandler unexpected = [](const Record&) { FAIL() << "nothing was measured"; };
  session.calibrate(time_getppid());
  EXPECT_THAT(log, ::testing::ElementsAre("begin_calibration", "drain", "end_calibration"));
  EXPECT_EQ(control.armed, 0u);
  const KernelTime before = KernelClock::now();
  session.arm();
  EXPECT_EQ(control.armed, 1u);
  EXPECT_GE(session.start(), before);
  EXPECT_LE(session.start(), KernelClock::now());
  EXPECT_FALSE(session.cells_are_filling());
  asked.full = true;
  EXPECT_TRUE(session.cells_are_filling());
  EXPECT_FALSE(session.rings_are_filling());  // there are none
  EXPECT_EQ(session.poll(unexpected), 0u);
  const u32 epoch = control.epoch;
  log.clear();
  session.collect(unexpected);
  EXPECT_EQ(control.epoch, epoch + 1);
  session.finish(unexpected);
  EXPECT_THAT(log, ::testing::ElementsAre("drain", "drain", "finish", "drain"))
      << "what threads have of sums is read before the programs are detached, too";
}

TEST_F(SessionTest, RoomIsMadeWhereCellsFillUp) {
  std::vector<std::string> of_cells, of_totals;
  Session session({}, 0);
  const session_control& control = session.membership().control();
  auto cells = std::make_unique<RecordingProbe>(of_cells, control);
  auto totals = std::make_unique<RecordingProbe>(of_totals, control);
  totals->word = &session_control::totals_epoch;
  bool& cells_are_full = cells->full;
  bool& totals_are_full = totals->full;
  session.add(std::move(cells));
  session.add(std::move(totals));
  session.arm();
  const RecordHandler unexpected = [](const Record&) { FAIL() << "nothing was measured"; };
  const u32 epoch = control.epoch, totals_epoch = control.totals_epoch;
  cells_are_full = true;
  session.make_room(unexpected);
  EXPECT_EQ(of_cells.size(), 1u);
  EXPECT_TRUE(of_totals.empty());
  EXPECT_EQ(control.epoch, epoch + 1);
  EXPECT_EQ(control.totals_epoch, totals_epoch);
  cells_are_full = false;
  totals_are_full = true;
  session.make_room(unexpected);
  EXPECT_EQ(of_cells.size(), 1u);
  EXPECT_EQ(of_totals.size(), 1u);
  session.collect(unexpected);
  EXPECT_EQ(of_cells.size(), 2u);
  EXPECT_EQ(of_totals.size(), 2u);
  session.finish(unexpected);
}

TEST_F(SessionTest, TheReceiptSaysWhatWasLostAndWhy) {
  std::vector<std::string> log;
  Session session({}, 0);
  EXPECT_TRUE(session.receipt().lost_by.empty());
  for (int probes = 0; probes < 2; ++probes)
    session.add(std::make_unique<RecordingProbe>(log, session.membership().control()));
  const Receipt receipt = session.receipt();
  const std::map<std::string, std::uint64_t> expected{
      {"ring_full", 2}, {"cells_full", 4}, {"task_storage", 6}};
  EXPECT_EQ(receipt.lost_by, expected);
  EXPECT_EQ(receipt.unmatched, 10u);
  EXPECT_EQ(receipt.cut, 12u);
}

TEST_F(SessionTest, LeavesNothingInTheKernel) {
  const std::size_t before = own_bpf_objects().size();
  BpfObjects during;
  {
    MembershipRules rules;
    rules.all = true;
    Session session(rules, 1 << 16);
    session.arm();
    during = own_bpf_objects();
  }
  EXPECT_GE(during.size(), 10u);
  EXPECT_EQ(own_bpf_objects().size(), before);
  EXPECT_EQ(still_held(during), 0u);
}

TEST_F(SessionTest, NobodyElseIsMeasuredWhileCalibrating) {
  std::vector<std::string> log;
  MembershipRules rules;
  rules.all = true;
  Session session(rules, 0);
  auto probe = std::make_unique<RecordingProbe>(log, session.membership().control());
  std::unique_ptr<Child> newcomer;
  probe->while_calibrating = [&] { newcomer = std::make_unique<Child>([](Child&) { pause(); }); };
  session.add(std::move(probe));
  session.calibrate(time_getppid());
  ASSERT_TRUE(newcomer);
  EXPECT_TRUE(session.membership().members().empty());
  session.arm();
  EXPECT_FALSE(session.membership().members().empty());
}

TEST_F(SessionTest, TimesOnTheCpusGivenAndGoesBack) {
  cpu_set_t before{}, after{};
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::uint32_t last = 0;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) last = cpu;
  const std::vector<std::uint32_t> no_such_cpu_then_last{CPU_SETSIZE - 1, last};
  EXPECT_FALSE(time_getppid(no_such_cpu_then_last).empty());
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

/// A program that runs for a fifth of a second in another thread, and submits a record at its end
/// to the rings of a session.
class SlowProgram {
 public:
  explicit SlowProgram(const SharedMaps& shared) {
    check(bpf_map__reuse_fd(bpf_->maps.rings, shared.rings), "cannot share the rings");
    bpf_->bss->turns = 1 << 23;
    bpf_.load();
    thread_ = std::thread(
        [this] { run_iterator(bpf_program__fd(bpf_->progs.run_long), "run a slow program"); });
    while (!__atomic_load_n(&bpf_->bss->started, __ATOMIC_ACQUIRE)) usleep(100);
  }
  ~SlowProgram() { thread_.join(); }
  bool has_ended() const { return __atomic_load_n(&bpf_->bss->ended, __ATOMIC_ACQUIRE) != 0; }

 private:
  Skeleton<slow_program_bpf> bpf_{"slow_program"};
  std::thread thread_;
};

/// A slow program that is still running. On a busy machine it may end before the check; null if
/// that happens every time.
std::unique_ptr<SlowProgram> running_program(const SharedMaps& shared) {
  for (int tries = 0; tries < 20; ++tries)
    if (auto slow = std::make_unique<SlowProgram>(shared); !slow->has_ended()) return slow;
  return nullptr;
}

TEST_F(SessionTest, WaitsForRunningPrograms) {
  if (!Kernel().membarrier().yes) GTEST_SKIP() << "no membarrier(2): the wait is a guess";
  const Membership membership({}, 1 << 16);
  const auto slow = running_program(membership.maps());
  if (!slow) GTEST_SKIP() << "the machine is too busy";
  wait_for_running_programs();
  EXPECT_TRUE(slow->has_ended());
}

TEST_F(SessionTest, ARecordSubmittedAfterTheEndIsDelivered) {
  if (!Kernel().membarrier().yes) GTEST_SKIP() << "no membarrier(2): the wait is a guess";
  constexpr Schema schema{
      .id = 1, .name = "test", .size = sizeof(event_header), .fields = {}, .help = ""};
  std::vector<std::string> log;
  Session session({}, 1 << 16);
  auto probe = std::make_unique<RecordingProbe>(log, session.membership().control());
  probe->known = &schema;
  session.add(std::move(probe));
  session.arm();
  const auto slow = running_program(session.membership().maps());
  if (!slow) GTEST_SKIP() << "the machine is too busy";
  const std::uint64_t earlier = session.poll([](const Record&) {});
  std::uint64_t delivered = 0;
  session.finish([&](const Record&) { ++delivered; });
  EXPECT_EQ(delivered, 1u) << "after " << earlier << " of earlier tries";
}

TEST_F(SessionTest, AnInsertedRecordIsDeliveredAtItsTime) {
  constexpr Schema schema{
      .id = 1, .name = "test", .size = sizeof(event_header), .fields = {}, .help = ""};
  Session session({}, 1 << 16);
  session.arm();
  const auto insert = [&](KernelTime time) {
    event_header header{};
    header.time_ns = static_cast<u64>(time.time_since_epoch().count());
    session.insert({&schema, std::as_bytes(std::span(&header, 1))});
  };
  insert(KernelTime(std::chrono::nanoseconds(1)));  // a machine may run for less than an hour
  insert(KernelClock::now() + std::chrono::hours(1));
  std::uint64_t delivered = 0;
  const RecordHandler count = [&](const Record&) { ++delivered; };
  session.poll(count);
  EXPECT_EQ(delivered, 1u);
  session.finish(count);
  EXPECT_EQ(delivered, 2u);
}

TEST_F(SessionTest, ASharedDataSectionIsOneMemory) {
  const Membership membership({}, 1 << 16);
  Skeleton<nested_program_bpf> program("nested_program");
  check(bpf_map__reuse_fd(program->maps.data_control, membership.maps().control),
        "cannot share the control words");
  program.load();
  membership.control().threshold_ns[SPAN_OFFCPU] = 4711;
  EXPECT_EQ(program->data_control->control.threshold_ns[SPAN_OFFCPU], 4711u);
  program->data_control->control.threshold_ns[SPAN_OFFCPU] = 4712;
  EXPECT_EQ(membership.control().threshold_ns[SPAN_OFFCPU], 4712u);
  program->bss->looked_at = 42;  // the program's own section stays its own
  u32 key = 0;
  std::vector<std::byte> own(bpf_map__value_size(program->maps.bss));
  ASSERT_EQ(bpf_map_lookup_elem(bpf_map__fd(program->maps.bss), &key, own.data()), 0);
  EXPECT_EQ(std::memcmp(own.data(), program->bss, own.size()), 0);
}

TEST_F(SessionTest, CountsRunsOfAProgramThatTheKernelLeftOut) {
  const Membership membership({}, 1 << 16);
  Skeleton<nested_program_bpf> program("nested_program");
  check(bpf_map__reuse_fd(program->maps.rings, membership.maps().rings), "cannot share the rings");
  program.load();
  program->bss->looked_at = static_cast<u32>(getpid());
  {
    const Link link = attach(program->progs.on_memory_locked);
    void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    munmap(page, 4096);
  }
  const auto left_out = read_counters(program->obj)[COUNTER_NESTED];
  EXPECT_GT(program->bss->runs, 0u);
  EXPECT_EQ(left_out + program->bss->nested_runs, program->bss->runs);
}

}  // namespace
}  // namespace overdue
