#include "analysis/cpu_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analysis/records_fixture.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<u64> times_of(const std::vector<RawSample*>& samples) {
  std::vector<u64> times;
  for (const RawSample* sample : samples) times.push_back(sample->header.time_ns);
  return times;
}

void take(CpuSamples& samples, u32 tid, u64 time_ns) {
  const std::vector<std::byte> bytes = sample_of(tid, time_ns, {1, 2});
  samples.take({&sample_schema, bytes});
}

TEST(CpuSamples, AreThoseOfAThreadWithinSomeTime) {
  CpuSamples samples;
  for (const u64 time_ns : {100u, 200u, 300u, 400u}) take(samples, 7, time_ns);
  take(samples, 8, 250);
  EXPECT_THAT(times_of(samples.of(7, 100, 300)), ElementsAre(200u, 300u));
  EXPECT_THAT(times_of(samples.of(8, 0, 1000)), ElementsAre(250u));
  EXPECT_THAT(samples.of(9, 0, 1000), IsEmpty());
  const RawSample& one = *samples.of(7, 0, 100).at(0);
  EXPECT_THAT(one.kernel_stack, ElementsAre(1u, 2u));
  EXPECT_EQ(one.user_stack.size(), 8u);
}

TEST(CpuSamples, MayComeALittleLate) {
  CpuSamples samples;
  for (const u64 time_ns : {200u, 300u, 100u}) take(samples, 7, time_ns);
  EXPECT_THAT(times_of(samples.of(7, 150, 300)), ElementsAre(200u, 300u));
}

TEST(CpuSamples, OfAWakerAreOfItsWakeUpAlone) {
  CpuSamples samples;
  take(samples, 7, 100);
  samples.take({&sample_schema, sample_of(7, 200, {1}, true, SAMPLE_OF_WAKER)});
  EXPECT_THAT(times_of(samples.of(7, 0, 1000)), ElementsAre(100u));
  ASSERT_NE(samples.of_waker(7, 200), nullptr);
  EXPECT_EQ(samples.of_waker(7, 200)->header.time_ns, 200u);
  EXPECT_EQ(samples.of_waker(7, 100), nullptr);
  EXPECT_EQ(samples.of_waker(8, 200), nullptr);
}

TEST(CpuSamples, ForgetsTheOldestBeyondItsBounds) {
  CpuSamples samples(3);
  take(samples, 7, 100);
  for (const u64 time_ns : {200u, 300u, 400u}) take(samples, 8, time_ns);
  EXPECT_THAT(samples.of(7, 0, 1000), IsEmpty());
  EXPECT_THAT(times_of(samples.of(8, 0, 1000)), ElementsAre(200u, 300u, 400u));
}

TEST(CpuSamples, BelievesNoLengthOfADamagedRecord) {
  CpuSamples samples;
  cpu_sample fixed{};
  fixed.kernel_frames = fixed.user_bytes = 65535;
  fixed.flags = SPAN_HAS_USER_STACK;
  const std::vector<std::byte> whole = bytes_of(fixed);
  for (const std::size_t size : {std::size_t{0}, std::size_t{60}, whole.size()})
    samples.take({&sample_schema, std::span(whole).first(size)});
  EXPECT_EQ(samples.of(0, 0, 1).size(), 0u);
  fixed.header.time_ns = 5;
  samples.take({&sample_schema, bytes_of(fixed)});
  const RawSample& one = *samples.of(0, 0, 9).at(0);
  EXPECT_EQ(one.kernel_stack.size(), std::size_t{SAMPLE_FRAMES});
  EXPECT_THAT(one.user_stack, IsEmpty());
}

}  // namespace
}  // namespace overdue
