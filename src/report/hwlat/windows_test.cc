#include "report/hwlat/windows.h"

#include <gtest/gtest.h>

#include <cstring>

namespace overdue::windows_test {
namespace {

/// A line of the kernel's documentation (Documentation/trace/ftrace.rst).
constexpr std::string_view documented =
    "           <...>-1729  [001] d...   863.938932: #10    inner/outer(us):    9/11    "
    "ts:1581527668.970010500 count:1 nmi-total:7 nmi-count:1";

TEST(HwlatLine, OfTheKernelIsRead) {
  const auto sample = parse_hwlat_line(documented);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->number, 10u);
  EXPECT_EQ(sample->comm, "<...>");
  EXPECT_EQ(sample->tid, 1729u);
  EXPECT_EQ(sample->cpu, 1u);
  EXPECT_EQ(sample->flags, "d...");
  EXPECT_EQ(sample->time_ns, 863'938'932'000u);
  EXPECT_EQ(sample->inner_ns, 9000u);
  EXPECT_EQ(sample->outer_ns, 11'000u);
  EXPECT_EQ(sample->first.time_since_epoch().count(), 1'581'527'668'970'010'500);
  EXPECT_EQ(sample->count, 1u);
  EXPECT_EQ(sample->nmi_total_ns, 7000u);
  EXPECT_EQ(sample->nmi_count, 1u);
}

TEST(HwlatLine, IsThatOfTheKernel) {
  EXPECT_EQ(hwlat_line(*parse_hwlat_line(documented)),
            "         <...>-1729    [001] d...   863.938932: #10    inner/outer(us):    9/11    "
            "ts:1581527668.970010500 count:1 nmi-total:7 nmi-count:1\n");
}

TEST(HwlatLine, OthersAreNone) {
  for (const char* line :
       {"", "# tracer: hwlat", "#              | |       |   ||||       |         |",
        "           <...>-1729  [001] d...   863.938932: #10    inner/outer(us):",
        "           <...>-1729  [001] d...   863.938932: sched_switch: x", " [", "-1 [1",
        "x-1 [001] ts: count:1 inner/outer(us): 3/", ": # inner/outer(us): / ts: count: [-"})
    EXPECT_FALSE(parse_hwlat_line(line)) << line;
}

osnoise_gap gap_of(u64 begin_ns, u64 ns, u32 flags) {
  osnoise_gap gap{};
  gap.header.cpu = 3;
  gap.begin_ns = begin_ns;
  gap.noise_ns = ns;
  gap.flags = flags;
  return gap;
}

/// A noise with one interference.
TimerCause cause_of(u64 ns, u16 kind, u64 noise_ns) {
  TimerCause cause;
  cause.latency_ns = ns;
  cause.parts.unexplained_ns = ns - noise_ns;
  if (noise_ns == 0) return cause;
  CauseNoise noise{};
  noise.noise.kind = kind;
  noise.net_ns = noise_ns;
  cause.noises.push_back(noise);
  return cause;
}

TEST(HwlatWindows, TakesOutWhatIsSomebodys) {
  SessionInfo info;
  info.start_wall = WallTime(std::chrono::seconds(1'581'527'483));
  HwlatWindows windows(10'000);
  windows.add(gap_of(100, 20'000, 0), cause_of(20'000, NOISE_VECTOR, 11'000), info);
  windows.add(gap_of(200, 9'000'000, 0), cause_of(9'000'000, NOISE_THREAD, 8'000'000), info);
  windows.add(gap_of(300, 9'000'000, OSNOISE_UNSEEN), cause_of(9'000'000, 0, 0), info);
  osnoise_sample sample{};
  sample.header.cpu = 3;
  EXPECT_FALSE(windows.end(sample));  // software explains all of it
  EXPECT_EQ(windows.explained(), 3u);

  windows.add(gap_of(343'962'693, 31'000, 0), cause_of(31'000, NOISE_IRQ, 14'500), info);
  windows.add(gap_of(400'000'000, 12'100, OSNOISE_INNER), cause_of(12'100, NOISE_NMI, 7300), info);
  windows.add(gap_of(500'000'000, 11'000, 0), cause_of(11'000, 0, 0), info);
  sample.header.tid = 1729;
  sample.header.time_ns = 678'473'449'000;
  std::strncpy(sample.header.comm, "osnoise/3", COMM_SIZE - 1);
  sample.inner_ns = 700;
  sample.outer_ns = 800;
  sample.nmi = 1;
  osnoise_sample other{};  // the window of another CPU ends in between
  EXPECT_FALSE(windows.end(other));
  const auto found = windows.end(sample);
  ASSERT_TRUE(found);
  EXPECT_EQ(hwlat_line(*found),
            "     osnoise/3-1729    [003] ....   678.473449: #1     inner/outer(us):   12/16    "
            "ts:1581527483.343962693 count:3 nmi-total:7 nmi-count:1\n");
  EXPECT_FALSE(windows.end(sample));  // the next window begins empty
}

}  // namespace
}  // namespace overdue::windows_test
