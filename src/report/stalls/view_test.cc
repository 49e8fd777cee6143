#include "report/stalls/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstring>

#include "bpf/syscalls.h"
#include "core/chosen_schema.h"
#include "core/span_schema.h"
#include "probes/sched/probe.h"
#include "probes/syscalls/probe.h"
#include "report/stalls/chosen.h"
#include "report/why/causes.h"
#include "sinks/finding_sections.h"

namespace overdue::stalls_view_test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Names kernel addresses 1 to 6 and all others by a function each, and user stacks by process.
class FakeNamer final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const u64 address : addresses)
      stack.push_back({.name = address == 1   ? "pipe_read"
                               : address == 2 ? "do_poll"
                               : address == 4 ? "hrtimer_nanosleep"
                               : address == 5 ? "exit_to_user_mode_loop"
                               : address == 6 ? "do_syscall_64"
                                              : "futex_wait"});
    return stack;
  }
  UserStack user_stack(std::uint32_t pid, const user_registers&, const UserCopy&,
                       KernelTime) override {
    return {.frames = {{.name = "fsync"},
                       {.name = pid == 1 ? "db::commit(int)" : "roll_back"},
                       {.name = "main"}},
            .end = {}};
  }
};

struct FakeSink final : Sink {
  std::vector<std::uint64_t> shown, like;
  std::vector<std::uint64_t> with_threshold;  ///< those whose texts have the threshold
  std::vector<std::string> callers;           ///< second user frame of each link of the chains
  std::vector<std::string> more;
  std::vector<std::string> notes;
  std::string percentiles, causes;
  std::size_t lines = 0;  ///< of the causes, and of their examples

  void section(const SectionPtr& section) override {
    if (const auto* late = dynamic_cast<const FindingSection*>(section.get()))
      add(late->finding(), section->text({.info = SessionInfo{}, .receipt = Receipt{}}));
    else if (const auto* folded = dynamic_cast<const RepeatsSection*>(section.get()))
      add(folded->repeats());
    else if (dynamic_cast<const ChosenSection*>(section.get()))
      percentiles = section->text({.info = SessionInfo{}, .receipt = Receipt{}});
    if (!dynamic_cast<const CausesSection*>(section.get())) return;
    causes = section->text({.info = SessionInfo{}, .receipt = Receipt{}});
    lines = section->lines().size();
  }
  void add(const Finding& finding, std::string_view text) {
    shown.push_back(finding.number);
    like.push_back(finding.like);
    if (text.find("(threshold ") != text.npos) with_threshold.push_back(finding.number);
    for (const ChainLink& link : finding.chain)
      callers.push_back(link.user_stack.empty() ? "" : link.user_stack.at(1).name);
  }
  void add(const Repeats& repeats) {
    more.push_back(std::to_string(repeats.count) + " like " + std::to_string(repeats.number) + " " +
                   std::to_string(repeats.latency_ns) + " " + std::to_string(repeats.longest_ns));
  }
  std::optional<FrameCounts> frames;
  void end(const SessionInfo& info, const Receipt& receipt) override {
    notes = info.notes;
    frames = receipt.frames;
  }
};

struct Shown {
  FakeNamer namer;
  FakeSink sink;
  StallView view;
  u64 now_ns = 0;

  explicit Shown(StallViewOptions options = {}) : view(std::move(options), namer, sink) {
    view.begin(SessionInfo{});
  }
  /// A call of process `pid` that slept in a function, and then waited for a CPU.
  void stall(u32 nr, u32 pid = 1, u64 address = 3, u64 latency_ns = 1000, u32 waker = 0,
             u64 runqueue_ns = 0) {
    struct {
      sched_wait wait{};
      u64 stack = 0;
    } waited;
    waited.wait.header.kind = RECORD_SCHED_WAIT;
    waited.wait.header.pid = waited.wait.header.tid = pid;
    waited.wait.out_ns = now_ns;
    now_ns += latency_ns;
    waited.wait.header.time_ns = now_ns;
    waited.wait.state = WAIT_SLEEPING;
    waited.wait.waker_context = waker ? WAKER_THREAD : WAKER_UNKNOWN;
    waited.wait.waker_tid = waker;
    waited.wait.wake_ns = now_ns - runqueue_ns;
    waited.wait.kernel_frames = 1;
    waited.stack = address;
    struct {
      span_record span{};
      user_registers registers{};
      u64 stack = 0;
    } late;
    late.span.header = waited.wait.header;
    late.span.header.kind = RECORD_SPAN;
    late.span.latency_ns = latency_ns;
    late.span.span = SPAN_SYSCALL;
    late.span.subject = nr;
    late.span.flags = SPAN_HAS_LEDGER | SPAN_HAS_USER_STACK;
    late.span.user_bytes = 8;
    view.record({&sched_wait_schema, std::as_bytes(std::span(&waited, 1))});
    view.record({&span_schema, std::as_bytes(std::span(&late, 1))});
  }
  /// A native call with its own record, that ran throughout.
  void native_stall(u32 nr, u64 latency_ns) {
    now_ns += latency_ns;
    syscall_call call{};
    call.header.time_ns = now_ns;
    call.header.kind = RECORD_SYSCALL_CALL;
    call.header.size = sizeof call;
    call.header.pid = call.header.tid = 1;
    call.latency_ns = latency_ns;
    call.nr = nr;
    span_record late{};
    late.header = call.header;
    late.header.kind = RECORD_SPAN;
    late.header.size = sizeof late;
    late.latency_ns = latency_ns;
    late.span = SPAN_SYSCALL;
    late.subject = nr;
    view.record({&syscall_call_schema, std::as_bytes(std::span(&call, 1))});
    view.record({&span_schema, std::as_bytes(std::span(&late, 1))});
  }
  void end() { view.end(SessionInfo{}, Receipt{}); }
};

TEST(StallView, UserStacksThatAreNotWantedAreNotResolved) {
  for (const bool wanted : {true, false}) {
    std::vector<Finding> found;
    Shown shown({.wants_user_stacks = [wanted](const RawStall&) { return wanted; },
                 .on_finding = [&found](const Finding& finding) { found.push_back(finding); }});
    shown.stall(SYS_fsync);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_TRUE(found[0].user_stack);
    EXPECT_EQ(found[0].user_stack->size(), wanted ? 3u : 0u);
    ASSERT_EQ(found[0].waits.size(), 1u);
    EXPECT_EQ(found[0].waits[0].kernel_stack.size(), 1u);
  }
}

/// Records a wait of thread 1 with the kernel stack.
void add_wait(StallView& view, sched_wait wait, const std::vector<u64>& stack) {
  std::vector<std::byte> bytes(sizeof wait + stack.size() * sizeof(u64));
  wait.header.kind = RECORD_SCHED_WAIT;
  wait.header.pid = wait.header.tid = 1;
  wait.header.size = static_cast<u16>(bytes.size());
  wait.flags |= WAIT_OF_MEMBER;
  wait.kernel_frames = static_cast<u16>(stack.size());
  std::memcpy(bytes.data(), &wait, sizeof wait);
  std::memcpy(bytes.data() + sizeof wait, stack.data(), stack.size() * sizeof(u64));
  view.record({&sched_wait_schema, bytes});
}

TEST(StallView, ASleepThatWasAskedForIsNoDelayOnItsWayBack) {
  constexpr u64 ms = 1'000'000;
  std::vector<Finding> found;
  StallViewOptions options;
  options.thresholds.general = 2ms;
  options.on_finding = [&found](const Finding& finding) { found.push_back(finding); };
  Shown shown(options);
  sched_wait sleep{};
  sleep.out_ns = 10 * ms;
  sleep.header.time_ns = sleep.wake_ns = 510 * ms;
  sleep.state = WAIT_SLEEPING;
  sleep.sums.sleeping_ns = 500 * ms;
  sleep.place = 1;
  add_wait(shown.view, sleep, {4, 6});
  sched_wait preempted{};
  preempted.out_ns = 510 * ms;
  preempted.header.time_ns = 517 * ms;
  preempted.state = WAIT_PREEMPTED;
  preempted.sums = sleep.sums;
  preempted.sums.preempted_ns = 7 * ms;
  preempted.call = SYS_clock_nanosleep + 1;
  preempted.call_ns = sleep.out_ns;
  add_wait(shown.view, preempted, {5, 6});
  shown.end();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_way_back);
  EXPECT_EQ(found[0].latency_ns, 507 * ms);
  EXPECT_EQ(found[0].purpose.of, "time");
  EXPECT_EQ(found[0].late_ns(), 7 * ms);
}

TEST(StallView, FoldsWhatHasOneCause) {
  Shown shown({.first = 2});
  for (u64 i = 1; i <= 5; ++i) {
    shown.stall(SYS_fsync, 1, 3, 1000 * i);
    shown.stall(SYS_futex);
  }
  EXPECT_THAT(shown.sink.shown, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(shown.sink.like, ElementsAre(0, 0, 1, 2));
  shown.end();
  EXPECT_THAT(shown.sink.more, ElementsAre("3 like 1 12000 5000", "3 like 2 3000 1000"));
  EXPECT_THAT(shown.sink.notes, ElementsAre("10 stalls of 2 causes"));
}

TEST(StallView, ShowsTheLongestFindingBelowTheSums) {
  for (const bool summary : {true, false}) {
    Shown shown({.first = 3, .only_summary = summary});
    for (u64 i = 1; i <= 4; ++i) shown.native_stall(SYS_fsync, 1000 * (i % 4 + 1));
    shown.end();
    EXPECT_EQ(shown.sink.shown.size(), summary ? 0u : 3u);
    const std::size_t longest = shown.sink.causes.find("\nthe longest, of cause 1\n");
    EXPECT_EQ(longest != std::string::npos, summary);
    EXPECT_EQ(shown.sink.causes.find("#3 ", longest) != std::string::npos, summary);
    EXPECT_EQ(shown.sink.lines, summary ? 2u : 1u) << "a stream has the example once";
  }
}

TEST(StallView, ShowsAThresholdOnceUntilItChanges) {
  StallViewOptions options;
  options.first = 0;
  options.thresholds.general = Duration(300);
  Shown shown(options);
  shown.stall(SYS_fsync);
  shown.stall(SYS_fsync);
  options.thresholds.general = Duration(400);
  shown.view.change(KernelTime(Duration(shown.now_ns + 1)), options.thresholds, {});
  shown.stall(SYS_fsync);
  shown.stall(SYS_fsync);
  EXPECT_THAT(shown.sink.shown, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(shown.sink.with_threshold, ElementsAre(1, 3));
}

chosen_threshold chosen(u32 call, u64 from_ns, u64 threshold_ns, u16 flags = 0) {
  chosen_threshold record{};
  record.header.time_ns = from_ns;
  record.header.kind = RECORD_CHOSEN_THRESHOLD;
  record.header.size = sizeof record;
  record.threshold_ns = threshold_ns;
  record.operations = 1'234;
  record.asked_ppm = record.used_ppm = 990'000;
  record.subject = call;
  record.span = SPAN_SYSCALL;
  record.flags = static_cast<u16>(CHOSEN_OF_CALL | flags);
  return record;
}

TEST(StallView, ComparesWithThePercentileOfTheTime) {
  StallViewOptions options;
  options.first = 0;
  options.thresholds = parse_thresholds({"p99"});
  std::vector<std::pair<u64, bool>> examined;
  options.on_examined = [&](const MeasuredKind& kind, u64 latency_ns, bool is_idle) {
    EXPECT_EQ(kind, (MeasuredKind{.span = SPAN_SYSCALL, .call = SYS_fsync}));
    examined.emplace_back(latency_ns, is_idle);
  };
  Shown shown(options);
  const auto choose = [&](u64 from_ns, u64 threshold_ns, u16 flags = 0) {
    const chosen_threshold record = chosen(SYS_fsync, from_ns, threshold_ns, flags);
    shown.view.record({&chosen_threshold_schema, std::as_bytes(std::span(&record, 1))});
  };
  shown.native_stall(SYS_fsync, 1'000);  // ends at 1,000: nothing has been chosen
  choose(2'000, 1'500);
  choose(10'000, 3'000);
  shown.native_stall(SYS_fsync, 2'000);  // ends at 3,000
  shown.native_stall(SYS_fsync, 1'400);
  shown.now_ns = 10'000;
  shown.native_stall(SYS_fsync, 2'000);
  shown.native_stall(SYS_fsync, 4'000);
  EXPECT_THAT(shown.sink.shown, ElementsAre(1, 2));
  EXPECT_THAT(examined, ElementsAre(std::pair(2'000, false), std::pair(4'000, false)));
  choose(20'000, 3'000, CHOSEN_AT_END);
  shown.end();
  EXPECT_EQ(shown.sink.percentiles, "p99 of fsync: 3.00us (of 1,234)\n");
}

TEST(StallView, CountsTheFramesOfWhatItFoundShownOrNot) {
  Shown shown({.first = 1});
  shown.stall(SYS_read, 1, 1);  // idle
  for (int i = 0; i < 3; ++i) shown.stall(SYS_fsync);
  shown.end();
  ASSERT_TRUE(shown.sink.frames);
  EXPECT_EQ(shown.sink.frames->user, 9u);
  EXPECT_EQ(shown.sink.frames->kernel, 3u);
  EXPECT_EQ(shown.sink.frames->user_unresolved, 0u);

  Shown none;
  none.end();
  EXPECT_FALSE(none.sink.frames);
}

TEST(StallView, ShowsAllIfAskedTo) {
  Shown shown({.first = 0});
  for (int i = 0; i < 5; ++i) shown.stall(SYS_fsync);
  shown.end();
  EXPECT_THAT(shown.sink.shown, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(shown.sink.like, ElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(shown.sink.more, IsEmpty());
  EXPECT_THAT(shown.sink.notes, ElementsAre("5 stalls of 1 cause"));
}

TEST(StallView, SaysThatThereWasNothing) {
  Shown shown;
  shown.end();
  EXPECT_THAT(shown.sink.notes, ElementsAre("nothing took as long as the threshold"));
}

TEST(StallView, LeavesOutWaitsForWorkAndCountsThem) {
  Shown shown;
  shown.stall(SYS_read, 1, 1);
  shown.stall(SYS_read, 1, 3);
  shown.end();
  EXPECT_THAT(shown.sink.shown, ElementsAre(1));
  EXPECT_THAT(shown.sink.notes, Contains("waits that may be for work are not shown: syscall_0 1 "
                                         "(longest 1.00us); --idle shows them"));

  Shown all({.idle = true});
  all.stall(SYS_read, 1, 1);
  all.end();
  EXPECT_THAT(all.sink.shown, ElementsAre(1));
}

TEST(StallView, NeverSaysNothingWhereSomethingIsLeftOut) {
  Shown shown;
  shown.stall(SYS_read, 1, 1, 1000);
  shown.stall(SYS_read, 1, 1, 4000);
  shown.end();
  EXPECT_THAT(shown.sink.shown, IsEmpty());
  EXPECT_THAT(shown.sink.notes,
              ElementsAre("no stall is shown: all that took as long as the threshold is left out",
                          "waits that may be for work are not shown: syscall_0 2 (longest "
                          "4.00us); --idle shows them"));
}

TEST(StallView, ShowsCallsThatWereAskedForByName) {
  Shown chosen({.is_chosen = true});
  chosen.stall(SYS_poll, 1, 2);
  EXPECT_THAT(chosen.sink.shown, ElementsAre(1));
}

TEST(StallView, ShowsWhatIsLateByMoreThanItWasToWait) {
  for (const u64 threshold_ns : {300u, 400u}) {
    StallViewOptions options;
    options.thresholds.general = Duration(threshold_ns);
    Shown shown(std::move(options));
    shown.stall(SYS_poll, 1, 2, 1000, 0, 300);
    EXPECT_EQ(shown.sink.shown.size(), threshold_ns == 300 ? 1u : 0u);
  }
}

TEST(StallView, SaysWhereTheCallOfAWakerCameFrom) {
  Shown shown;
  shown.stall(SYS_clock_nanosleep, 1);
  shown.now_ns -= 1000;  // at the same time
  shown.stall(SYS_futex, 2, 3, 1000, 1);
  EXPECT_THAT(shown.sink.callers, ElementsAre("db::commit(int)"));
  shown.stall(SYS_futex, 2, 3, 1000, 1);  // the waker made no late call meanwhile
  EXPECT_THAT(shown.sink.callers, ElementsAre("db::commit(int)", ""));
}

TEST(StallView, KeepsWhatPassesAFunction) {
  for (const char* pattern : {"db::commit(int)", "db::commit", "*commit*", "db::*"}) {
    Shown shown({.keep_under = pattern});
    shown.stall(SYS_fsync, 1);
    shown.stall(SYS_fsync, 2);
    shown.stall(SYS_fsync, 1);
    shown.end();
    EXPECT_THAT(shown.sink.shown, ElementsAre(1, 2)) << pattern;
    EXPECT_THAT(shown.sink.notes, Contains("stalls not under " + std::string(pattern) + ": 1"));
  }
  Shown shown({.keep_under = "commit"});
  shown.stall(SYS_fsync, 1);
  EXPECT_THAT(shown.sink.shown, IsEmpty());
}

}  // namespace
}  // namespace overdue::stalls_view_test
