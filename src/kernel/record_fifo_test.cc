#include "kernel/record_fifo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace overdue {
namespace {

std::vector<std::byte> record_of(std::size_t size, unsigned value) {
  return std::vector<std::byte>(size, std::byte(value));
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(RecordFifo, GivesBackWhatItGotInTheSameOrder) {
  RecordFifo fifo;
  std::deque<std::pair<std::uint64_t, std::vector<std::byte>>> expected;
  std::mt19937 random(1);
  std::uint64_t time_ns = 0;
  for (int round = 0; round < 20'000; ++round) {
    // Now more come than go, now more go than come: blocks become full and empty.
    const bool coming = round / 2'000 % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0;
    if (coming) {
      const std::size_t size = random() % 100 == 0 ? random() % 3'000'000 : random() % 3'000;
      expected.emplace_back(++time_ns, record_of(size, random() % 256));
      fifo.push(time_ns, expected.back().second);
    } else if (!expected.empty()) {
      ASSERT_FALSE(fifo.empty());
      ASSERT_EQ(fifo.front_time_ns(), expected.front().first);
      ASSERT_TRUE(copy_of(fifo.front()) == expected.front().second) << time_ns;
      fifo.pop();
      expected.pop_front();
    }
  }
  for (; !expected.empty(); expected.pop_front(), fifo.pop())
    ASSERT_TRUE(copy_of(fifo.front()) == expected.front().second);
  EXPECT_TRUE(fifo.empty());
  EXPECT_EQ(fifo.bytes(), 0u);
}

TEST(RecordFifo, ARecordStaysWhereItIsWhileOthersCome) {
  RecordFifo fifo;
  fifo.push(1, record_of(100, 7));
  const std::span<const std::byte> first = fifo.front();
  for (std::uint64_t time_ns = 2; time_ns < 5'000; ++time_ns)
    fifo.push(time_ns, record_of(1'000, time_ns % 256));
  EXPECT_EQ(fifo.front().data(), first.data());
  EXPECT_EQ(copy_of(first), record_of(100, 7));
}

TEST(RecordFifo, CountsWhatItHolds) {
  RecordFifo fifo;
  for (int i = 0; i < 10'000; ++i) fifo.push(1, record_of(1'000, 1));
  EXPECT_GE(fifo.bytes(), 10'000'000u);
  EXPECT_LT(fifo.bytes(), 10'500'000u);
  for (int i = 0; i < 5'000; ++i) fifo.pop();
  EXPECT_GE(fifo.bytes(), 5'000'000u);
  EXPECT_LT(fifo.bytes(), 6'500'000u) << "at most one block of popped records";
}

}  // namespace
}  // namespace overdue
