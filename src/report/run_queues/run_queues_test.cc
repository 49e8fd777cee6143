#include "report/run_queues/run_queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace overdue::run_queues_test {
namespace {

queued_task task_of(u32 cpu, u32 tid, std::string_view comm, queued_state state, s64 key_ns) {
  queued_task task{};
  task.pid = task.tid = tid;
  task.cpu = cpu;
  task.state = state;
  task.tree_key_ns = key_ns;
  task.switches = 479;
  task.prio = 110;
  std::ranges::copy(comm, task.comm);
  return task;
}

const std::array all{task_of(35, 102825, "java", QUEUED_RUNNING, 1'306'133'326'251),
                     task_of(35, 337, "ksoftirqd/35", QUEUED_RUNNABLE, -5'236'392),
                     task_of(3, 7, "spinner", QUEUED_RUNNABLE, 20),
                     task_of(3, 6, "spinner", QUEUED_RUNNABLE, 10),
                     task_of(3, 8, "sleeper", QUEUED_ASLEEP, 0),
                     task_of(3, 99, "overdue", QUEUED_RUNNING, 0)};

TEST(RunQueues, AreInTheOrderInWhichThreadsGetTheCpu) {
  const RunQueues queues = run_queues_of(all, {}, 99);
  ASSERT_EQ(queues.cpus.size(), 2u);
  EXPECT_EQ(queues.cpus[0].cpu, 3u);
  ASSERT_EQ(queues.cpus[0].tasks.size(), 3u);
  EXPECT_EQ(queues.cpus[0].tasks[0].tid, 6u);
  EXPECT_EQ(queues.cpus[0].tasks[1].tid, 7u);
  EXPECT_EQ(queues.cpus[0].tasks[2].tid, 8u);
  EXPECT_EQ(queues.cpus[1].tasks[0].tid, 102825u);
}

TEST(RunQueues, OfChosenCpusAreThereThoughEmpty) {
  const std::array<std::uint32_t, 2> cpus{2, 35};
  const RunQueues queues = run_queues_of(all, cpus, 99);
  ASSERT_EQ(queues.cpus.size(), 2u);
  EXPECT_TRUE(queues.cpus[0].tasks.empty());
  EXPECT_EQ(queues.cpus[1].tasks.size(), 2u);
}

TEST(RunQueues, HaveTheColumnsOfTheKernel) {
  const std::array<std::uint32_t, 2> cpus{2, 35};
  RunQueues queues = run_queues_of(all, cpus, 99);
  queues.full_names[337] = "ksoftirqd/35-with-more";
  EXPECT_EQ(run_queues_text(queues),
            "CPU 2\n"
            "no thread is runnable\n"
            "\n"
            "CPU 35\n"
            " S                   task      PID      TID             tree-key   switches  prio\n"
            ">R                   java   102825   102825       1306133.326251        479   110\n"
            " R ksoftirqd/35-with-more      337      337            -5.236392        479   110\n");
}

}  // namespace
}  // namespace overdue::run_queues_test
