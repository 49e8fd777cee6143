#include "analysis/machine_stop.h"

#include <gtest/gtest.h>

#include "analysis/timer_cause.h"

namespace overdue::machine_stop_test {
namespace {

constexpr u64 ms = 1'000'000;
constexpr u32 ready = SILENCE_READY;

/// Activation of CPU 0, late from 1000 ms to 1301 ms.
timerlat_activation late_activation() {
  timerlat_activation activation{};
  activation.expires_ns = 1000 * ms;
  activation.header.time_ns = 1301 * ms;
  return activation;
}

timerlat_silence silence(u64 begin_ms, u64 end_ms, u32 flags = 0) {
  return {begin_ms * ms, end_ms * ms, flags, 0};
}

TEST(MachineStop, IsWhenAllWereSilentAndOneWasReady) {
  const auto stop =
      find_machine_stop(late_activation(), {{0, {silence(10, 12), silence(1000, 1300)}},
                                            {1, {silence(999, 1302, ready), silence(1304, 1307)}},
                                            {2, {silence(1001, 1301)}}});
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->kind, NOISE_HARDWARE);
  EXPECT_EQ(stop->begin_ns, 1001 * ms);
  EXPECT_EQ(stop->end_ns, 1300 * ms);
}

TEST(MachineStop, IsNoneWhereOneWentOn) {
  const timerlat_activation activation = late_activation();
  EXPECT_TRUE(find_machine_stop(activation,
                                {{0, {silence(1000, 1300)}}, {1, {silence(1000, 1300, ready)}}}));
  EXPECT_FALSE(find_machine_stop(activation, {{0, {silence(1000, 1300)}}, {1, {}}}));
  EXPECT_FALSE(find_machine_stop(activation, {{0, {}}, {1, {silence(1000, 1300, ready)}}}));
  EXPECT_FALSE(find_machine_stop(activation, {{0, {silence(1000, 1300)}},
                                              {1, {silence(1000, 1300, ready)}},
                                              {2, {silence(200, 500, ready)}}}));
}

// A CPU that is silent for half as long, or for twice as long, is silent for another reason.
TEST(MachineStop, SilencesAreTheSameFromBeginToEnd) {
  for (const auto& [begin_ms, end_ms] : {std::pair(1000, 1150), {1150, 1300}, {1000, 1600}})
    EXPECT_FALSE(find_machine_stop(
        late_activation(),
        {{0, {silence(1000, 1300)}},
         {1, {silence(static_cast<u64>(begin_ms), static_cast<u64>(end_ms), ready)}}}));
}

// Two CPUs that wait for one lock with interrupts off are silent, too.
TEST(MachineStop, IsNoneWhereAllMayHaveHadInterruptsOff) {
  EXPECT_FALSE(find_machine_stop(late_activation(),
                                 {{0, {silence(1000, 1300)}}, {1, {silence(1000, 1300)}}}));
  EXPECT_TRUE(find_machine_stop(late_activation(),
                                {{0, {silence(1000, 1300, ready)}}, {1, {silence(1000, 1300)}}}));
}

TEST(MachineStop, NothingIsKnownOfASingleCpu) {
  EXPECT_FALSE(find_machine_stop(late_activation(), {{0, {silence(1000, 1300, ready)}}}));
  EXPECT_FALSE(find_machine_stop(late_activation(), {}));
}

TEST(MachineStop, IsOfTheLatencyItself) {
  EXPECT_FALSE(find_machine_stop(late_activation(),
                                 {{0, {silence(700, 1000)}}, {1, {silence(700, 1000, ready)}}}));
  EXPECT_FALSE(find_machine_stop(late_activation(),
                                 {{0, {silence(1310, 1500)}}, {1, {silence(1310, 1500, ready)}}}));
}

}  // namespace
}  // namespace overdue::machine_stop_test
