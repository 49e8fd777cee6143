#include "report/offcpu/cpus.h"

#include <gtest/gtest.h>

#include <span>

#include "probes/sched/probe.h"
#include "report/offcpu/text.h"

namespace overdue::offcpu_cpus_test {
namespace {

constexpr u64 ms = 1'000'000;

/// CPUs that get records as from a session.
class OffcpuCpusTest : public testing::Test {
 protected:
  void add(u32 cpu, u64 sleeping_ms, u64 runqueue_ms, u64 waits, u64 longest_ms) {
    offcpu_cpu record{};
    record.header.cpu = cpu;
    record.sums.sleeping_ns = sleeping_ms * ms;
    record.sums.runqueue_ns = runqueue_ms * ms;
    record.waits = waits;
    record.longest_ns = longest_ms * ms;
    cpus.add(Record{&offcpu_cpu_schema, std::as_bytes(std::span(&record, 1))});
  }

  OffcpuCpus cpus;
};

TEST_F(OffcpuCpusTest, AnIntervalHasTheGrowthOfTheSums) {
  add(3, 10, 1, 4, 7);
  cpus.end_interval();
  add(3, 30, 1, 5, 20);
  const auto interval = cpus.interval_rows(), total = cpus.rows();
  ASSERT_EQ(interval.size(), 1u);
  EXPECT_EQ(interval[0].figures.sleeping_ns, 20 * ms);
  EXPECT_EQ(interval[0].figures.switches, 1u);
  EXPECT_EQ(interval[0].figures.max_ns, 20 * ms);
  EXPECT_EQ(total[0].figures.offcpu_ns(), 31 * ms);
  EXPECT_EQ(total[0].figures.switches, 5u);
}

TEST_F(OffcpuCpusTest, AWaitThatTurnsOutToBeOfAnotherPartKeepsTheSum) {
  add(3, 10, 0, 1, 0);  // a wait in progress, which the thread's wake-up then ends
  cpus.end_interval();
  add(3, 8, 4, 1, 12);
  EXPECT_EQ(cpus.interval_rows()[0].figures.sleeping_ns, 0u);
  EXPECT_EQ(cpus.interval_rows()[0].figures.runqueue_ns, 4 * ms);
  EXPECT_EQ(cpus.rows()[0].figures.offcpu_ns(), 12 * ms);
}

TEST_F(OffcpuCpusTest, StandInOrderWithoutThoseThatNoThreadWasOn) {
  add(1, 5, 0, 1, 5);
  add(0, 4, 0, 1, 4);
  add(2, 0, 0, 0, 0);
  const auto rows = cpus.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].cpu, 0u);
  EXPECT_EQ(rows[1].cpu, 1u);
  const std::string text = cpus_text(rows, 1);
  EXPECT_NE(text.find("\n0          -"), text.npos) << text;
  EXPECT_NE(text.find("1 more rows; --top 0 shows all\n"), text.npos) << text;
}

}  // namespace
}  // namespace overdue::offcpu_cpus_test
