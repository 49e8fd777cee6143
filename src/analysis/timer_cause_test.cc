#include "analysis/timer_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/timer_fixture.h"

namespace overdue {
namespace {

std::uint64_t ns_of(const TimerCause& cause, u32 kind) {
  return cause.parts.ns(share_kind(kind));
}

TEST(TimerCause, WithoutNoiseIsAllResidual) {
  const TimerCause cause = Activation{1300, 1900}.cause();
  EXPECT_EQ(cause.latency_ns, 900u);
  EXPECT_EQ(cause.irq_delay_ns, 300u);
  EXPECT_EQ(cause.parts.unexplained_ns, 900u);
  EXPECT_EQ(cause.unexplained_before_irq_ns, 300u);
  EXPECT_TRUE(cause.parts.shares().empty());
}

// The example of the kernel's documentation: two interrupts within a thread. The thread's own share
// is net.
TEST(TimerCause, InterruptsAreTakenFromTheThreadTheyInterrupted) {
  const Activation activation = example_of_the_documentation();
  const TimerCause cause = activation.cause();
  EXPECT_EQ(cause.latency_ns, 39960u);
  EXPECT_EQ(cause.irq_delay_ns, 13585u);
  const std::vector<Share> parts = cause.parts.longest_first();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].name, "local_timer");
  EXPECT_EQ(parts[1].ns, 7597u);
  EXPECT_EQ(parts[2].name, "qxl");
  EXPECT_EQ(parts[2].ns, 7139u);
  EXPECT_EQ(ns_of(cause, NOISE_THREAD), 39000u - 7597 - 7139);
  EXPECT_EQ(cause.parts.unexplained_ns, 960u);
  EXPECT_EQ(cause.parts.longest_first().front().name, "cc1");
  EXPECT_EQ(cause.parts.longest_first().front().before_irq_ns, 13585u);
  EXPECT_EQ(cause.parts.longest_first().back().before_irq_ns, 0u);
  ASSERT_EQ(cause.noises.size(), 3u);  // in order, clipped, with net durations
  EXPECT_EQ(cause.noises[0].noise.begin_ns, 1000u);
  EXPECT_EQ(cause.noises[0].net_ns, 39000u - 7597 - 7139);
  EXPECT_EQ(noise_name(cause.noises[1].noise), "local_timer");
  EXPECT_EQ(cause.parts.total_ns(), cause.latency_ns);
}

TEST(TimerCause, TheInnermostHasTheTime) {
  const TimerCause cause = Activation{
      1000,
      2000,
      {noise(NOISE_NMI, 0, 1400, 1500), noise(NOISE_IRQ, 9, 1300, 1600, "disk"),
       noise(NOISE_SOFTIRQ, 3, 1200, 1700),
       noise(NOISE_THREAD, 7, 1100, 1800,
             "seven")}}.cause();
  EXPECT_EQ(ns_of(cause, NOISE_NMI), 100u);
  EXPECT_EQ(ns_of(cause, NOISE_IRQ), 200u);
  EXPECT_EQ(ns_of(cause, NOISE_SOFTIRQ), 200u);
  EXPECT_EQ(ns_of(cause, NOISE_THREAD), 200u);
  EXPECT_EQ(cause.parts.unexplained_ns, 300u);
}

// The CPU was stopped within the handler of its timer interrupt.
TEST(TimerCause, WhatTheMachineWasStoppedForIsNobodysShare) {
  Activation activation{
      1100, 2000, {local_timer(1050, 1900), noise(NOISE_THREAD, 7, 900, 1050, "seven")}};
  const TimerCause cause =
      activation.cause(LatencyEnd::thread, 0, noise(NOISE_HARDWARE, 0, 1200, 1800));
  EXPECT_EQ(ns_of(cause, NOISE_HARDWARE), 600u);
  EXPECT_EQ(ns_of(cause, NOISE_VECTOR), 250u);
  EXPECT_EQ(ns_of(cause, NOISE_THREAD), 50u);
  EXPECT_EQ(cause.parts.total_ns(), 1000u);
}

TEST(TimerCause, OnlyWhatIsWithinCounts) {
  const TimerCause cause = Activation{
      1000,
      2000,
      {noise(NOISE_THREAD, 7, 1900, 2500, "seven"), noise(NOISE_SOFTIRQ, 1, 100, 1001),
       noise(NOISE_IRQ, 2, 100, 1000,
             "before")}}.cause();
  EXPECT_EQ(cause.parts.shares().size(), 2u);
  EXPECT_EQ(ns_of(cause, NOISE_THREAD), 100u);
  EXPECT_EQ(ns_of(cause, NOISE_SOFTIRQ), 1u);
  EXPECT_EQ(cause.parts.total_ns(), 1000u);
}

TEST(TimerCause, TheSameAgainIsOnePart) {
  const TimerCause cause =
      Activation{1000,
                 2000,
                 {noise(NOISE_IRQ, 9, 1100, 1200, "disk"), noise(NOISE_IRQ, 9, 1300, 1350, "disk")}}
          .cause();
  ASSERT_EQ(cause.parts.shares().size(), 1u);
  EXPECT_EQ(cause.parts.longest_first()[0].ns, 150u);
}

TEST(TimerCause, ToUserSpaceWhatCameAfterTheSwitchCountsToo) {
  Activation activation{
      1000, 2000, {local_timer(1000, 1400), noise(NOISE_THREAD, 7, 2200, 2700, "seven")}};
  activation.fixed.user_ns = 3000;
  EXPECT_EQ(activation.cause().latency_ns, 1000u);
  EXPECT_EQ(ns_of(activation.cause(), NOISE_THREAD), 0u);
  const TimerCause cause = activation.cause(LatencyEnd::user);
  EXPECT_EQ(cause.latency_ns, 2000u);
  EXPECT_EQ(ns_of(cause, NOISE_THREAD), 500u);
  EXPECT_EQ(cause.parts.total_ns(), 2000u);
}

TEST(TimerCause, AddressesStandBehindTheNoises) {
  Activation activation{1300, 1900, {local_timer(1300, 1500)}};
  activation.frames = {11, 12, 13};
  EXPECT_THAT(activation.cause().addresses, testing::ElementsAre(11, 12, 13));
  EXPECT_THAT(activation.cause(LatencyEnd::thread, 9).addresses, testing::ElementsAre(11));
  EXPECT_TRUE(activation.cause(LatencyEnd::thread, 30).addresses.empty());
}

// Overlapping, nested and outside noise entries, from a generator with a fixed seed.
TEST(TimerCause, PartsAndResidualAlwaysAddUp) {
  std::uint64_t state = 42;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 500; ++round) {
    Activation activation{random(12000), random(12000)};
    for (std::uint64_t i = random(20); i > 0; --i) {
      const u64 begin = random(12000);
      activation.noises.push_back(noise(static_cast<u16>(1 + random(5)),
                                        static_cast<u32>(random(4)), begin, begin + random(5000)));
    }
    for (const LatencyEnd end : {LatencyEnd::thread, LatencyEnd::user}) {
      const TimerCause cause = activation.cause(end);
      EXPECT_EQ(cause.parts.total_ns(), cause.latency_ns);
      std::uint64_t net_ns = cause.parts.unexplained_ns;
      for (const CauseNoise& each : cause.noises) net_ns += each.net_ns;
      EXPECT_EQ(net_ns, cause.latency_ns);
    }
  }
}

TEST(TimerCause, RecordsThatMakeNoSenseHaveNoParts) {
  EXPECT_EQ((Activation{1300, 900}.cause().latency_ns), 0u);
  const TimerCause late_irq = Activation{9000, 2000}.cause();
  EXPECT_EQ(late_irq.irq_delay_ns, 1000u);
  EXPECT_EQ(late_irq.parts.unexplained_ns, 1000u);
  const Activation cut{
      1000, 2000, {noise(NOISE_IRQ, 1, 1100, 1200), noise(NOISE_IRQ, 2, 1300, 1400)}};
  EXPECT_EQ(cut.cause(LatencyEnd::thread, 1).parts.shares().size(), 1u);
  EXPECT_EQ(cut.cause(LatencyEnd::thread, 2 * sizeof(timerlat_noise) + 20).parts.shares().size(),
            0u);
}

}  // namespace
}  // namespace overdue
