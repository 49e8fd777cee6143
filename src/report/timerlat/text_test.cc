#include "report/timerlat/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/timer_fixture.h"
#include "base/text.h"
#include "report/timerlat/trace.h"
#include "resolve/kernel_stacks.h"

namespace overdue::timerlat_text_test {
namespace {

using testing::HasSubstr;

/// The documentation's example, as it would be recorded: on CPU 5, 548.771077 s after boot.
class Example : public testing::Test {
 protected:
  static constexpr u64 expires_ns = 548'771'063'857;

  static timerlat_noise at(timerlat_noise noise) {
    noise.begin_ns += expires_ns - 1000;
    noise.end_ns += expires_ns - 1000;
    return noise;
  }

  Example() {
    Activation example = example_of_the_documentation();
    for (timerlat_noise& noise : example.noises) noise = at(noise);
    example.irq_ns += expires_ns - 1000;
    example.thread_ns += expires_ns - 1000;
    example.fixed.id = 402268;
    example.fixed.header.cpu = 5;
    example.fixed.flags = ACTIVATION_STOPPED;
    example.fixed.irq_preempt_count = 0x80010000;
    example.fixed.thread_preempt_count = 2;
    example.fixed.user_ns = example.thread_ns + 2500;
    bytes_ = example.bytes();
    // The fixture's timers expire at 1000.
    auto* record = reinterpret_cast<timerlat_activation*>(bytes_.data());
    record->expires_ns = expires_ns;
  }
  Record record() const { return {&activation_schema, bytes_}; }

  TimerlatPlan plan_{.cpus = {5}, .stop_total_ns = 25'000};
  KernelStacks stacks_;

 private:
  std::vector<std::byte> bytes_;
};

TEST_F(Example, TraceLinesAreThoseOfTheKernel) {
  TimerlatTrace trace(plan_);
  trace.add(record(), stacks_);
  EXPECT_EQ(trace.take(0), "");
  EXPECT_EQ(
      trace.take(UINT64_MAX),
      "           cc1-87882   [005] d.h.   548.771077: #402268 context    irq timer_latency     "
      "13585 ns\n"
      "           cc1-87882   [005] ....   548.771085: irq_noise: local_timer:236 start "
      "548.771077442 duration 7597 ns\n"
      "           cc1-87882   [005] ....   548.771092: irq_noise: qxl:21 start 548.771085857 "
      "duration 7139 ns\n"
      "           cc1-87882   [005] ....   548.771102: thread_noise:      cc1:87882 start "
      "548.771063857 duration 24264 ns\n"
      "    timerlat/0-1035    [005] dN.2   548.771103: #402268 context thread timer_latency     "
      "39960 ns\n");
  EXPECT_EQ(trace.take(UINT64_MAX), "");
}

TEST_F(Example, TheWayBackIsAThirdLine) {
  plan_.user = true;
  TimerlatTrace trace(plan_);
  trace.add(record(), stacks_);
  EXPECT_THAT(trace.take(UINT64_MAX), HasSubstr("context user-ret timer_latency     42460 ns\n"));
}

TEST_F(Example, TheCauseAddsUp) {
  const std::string text = timerlat_cause(explain_stop(record(), plan_, stacks_, {}));
  EXPECT_THAT(text, HasSubstr("CPU 5 stopped the run: activation #402268, thread latency 40.0us, "
                              "and the limit is 25.0us\n"));
  EXPECT_THAT(text, HasSubstr(R"(
  thread    cc1:87882                           24,264 ns   60.7%
  irq       local_timer:236                      7,597 ns   19.0%
  irq       qxl:21                               7,139 ns   17.9%
  residual                                         960 ns    2.4%
  total     IRQ delay 13,585 ns                 39,960 ns  100.0%
)"));
  EXPECT_THAT(text, HasSubstr("each - is 1 us"));
}

TEST(TimerlatFlags, AreTheKernelsLetters) {
  EXPECT_EQ(trace_flags(0x80010001, 0), "d.h1");  // a clear bit: a switch is due
  EXPECT_EQ(trace_flags(0x00010001, 0), "dNh1");
  EXPECT_EQ(trace_flags(0x80000002, 0), "d..2");
  EXPECT_EQ(trace_flags(0x80000100, 0), "d.s.");
  EXPECT_EQ(trace_flags(0x80010100, 0), "d.H.");
  EXPECT_EQ(trace_flags(0x80100000, 0), "d.z.");
  EXPECT_EQ(trace_flags(0x80110000, 0), "d.Z.");
  EXPECT_EQ(trace_flags(0x80010003, 1), "d.h2");  // without the BPF program's own depth
  EXPECT_EQ(trace_flags(0x80010000, 1), "d.h.");
  EXPECT_EQ(trace_flags(0x80000080, 0), "d..f");
}

TimerCpu cpu_with(std::uint32_t number, std::initializer_list<std::uint64_t> latencies,
                  const TimerlatPlan& plan) {
  TimerCpu cpu(number, plan);
  for (const std::uint64_t ns : latencies) {
    ++cpu.count;
    for (const TimerContext context : timer_contexts)
      cpu.figures[index_of(context)].add(ns * (1 + index_of(context)));
  }
  return cpu;
}

TEST(TimerlatTable, HasALineForEachCpu) {
  const TimerlatPlan plan;
  const std::vector<TimerCpu> cpus{cpu_with(0, {900, 1100, 2300}, plan), cpu_with(11, {}, plan)};
  EXPECT_EQ(
      timerlat_table(cpus, std::chrono::seconds(93784)),
      R"(     1 02:03:04 |          IRQ latency (us)          |        thread latency (us)         |      back in user space (us)       |
CPU       COUNT |     cur      min      avg      max |     cur      min      avg      max |     cur      min      avg      max |
0             3 |     2.3      0.9      1.4      2.3 |     4.6      1.8      2.8      4.6 |     6.9      2.7      4.3      6.9 |
11            0 |       -        -        -        - |       -        -        -        - |       -        -        -        - |
)");
}

TEST(TimerlatHistogram, CountsByBucketAndWhatIsOver) {
  const TimerlatPlan plan{.histogram = true, .buckets = 4};
  const std::vector<TimerCpu> cpus{cpu_with(0, {900, 1100, 2300}, plan)};
  EXPECT_EQ(timerlat_histogram(cpus, plan), R"(latencies, counted by bucket of 1.00us
from us    IRQ-000   thr-000   usr-000
0                1         0         0
1                1         1         0
2                1         1         1
3                0         0         1
over:            0         1         1
count:           3         3         3
min:           0.9       1.8       2.7
avg:           1.4       2.8       4.3
p99:           2.3       4.6       6.9
max:           2.3       4.6       6.9
)");
}

}  // namespace
}  // namespace overdue::timerlat_text_test
