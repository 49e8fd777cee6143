#include "core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace overdue {
namespace {

/// The bucket scheme in other words: the top five bits of the value select the bucket.
std::uint32_t bucket_by_bit_width(std::uint64_t value) {
  if (value < 16) return static_cast<std::uint32_t>(value);
  const auto width = static_cast<std::uint32_t>(std::bit_width(value));
  if (width > 44) return HISTOGRAM_BUCKETS - 1;
  const auto top_five = static_cast<std::uint32_t>(value >> (width - 5));
  return (width - 5) * 16 + top_five;
}

TEST(HistogramBucket, EqualsTheBitWidthFormulation) {
  const auto expect_same = [](std::uint64_t value) {
    ASSERT_EQ(histogram_bucket(value), bucket_by_bit_width(value)) << value;
  };
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    expect_same(power - 1);
    expect_same(power);
    expect_same(power + 1);
  }
  expect_same(UINT64_MAX);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) expect_same(random() >> (random() % 64));
}

TEST(HistogramBucket, Log2IsExact) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = (random() >> (random() % 64)) | 1;
    ASSERT_EQ(histogram_log2(value) + 1, static_cast<std::uint32_t>(std::bit_width(value)))
        << value;
  }
}

TEST(HistogramBucket, BoundsEncloseExactlyItsValues) {
  for (std::uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; ++bucket) {
    const std::uint64_t low = Histogram::bucket_low_ns(bucket);
    const std::uint64_t high = Histogram::bucket_high_ns(bucket);
    ASSERT_LT(low, high);
    EXPECT_EQ(histogram_bucket(low), bucket);
    EXPECT_EQ(histogram_bucket(high - 1), bucket);
    if (bucket > 0) {
      EXPECT_EQ(low, Histogram::bucket_high_ns(bucket - 1));
      EXPECT_EQ(histogram_bucket(low - 1), bucket - 1);
    }
    if (bucket + 1 < HISTOGRAM_BUCKETS) {
      EXPECT_LE((high - 1 - low) * 16, low) << bucket;
    }
  }
}

std::uint64_t exact_quantile(const std::vector<std::uint64_t>& sorted, std::uint64_t percent_x100) {
  const std::uint64_t rank = (percent_x100 * sorted.size() + 9999) / 10000;
  return sorted[std::max<std::uint64_t>(rank, 1) - 1];
}

void expect_close_quantiles(std::vector<std::uint64_t> values) {
  Histogram histogram;
  for (const std::uint64_t value : values) histogram.add(value);
  std::ranges::sort(values);
  for (const std::uint64_t percent_x100 : {1u, 100u, 700u, 5000u, 9500u, 9900u, 9990u, 10000u}) {
    const auto exact = static_cast<double>(exact_quantile(values, percent_x100));
    const auto ours =
        static_cast<double>(histogram.quantile_ns(static_cast<double>(percent_x100) / 10000));
    EXPECT_GE(ours, exact) << percent_x100;
    EXPECT_LE(ours, exact * 1.0625) << percent_x100;
  }
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.min_ns(), values.front());
  EXPECT_EQ(histogram.max_ns(), values.back());

  double mean = 0, squares = 0;
  for (const std::uint64_t value : values) mean += static_cast<double>(value);
  mean /= static_cast<double>(values.size());
  for (const std::uint64_t value : values)
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  const double stddev = std::sqrt(squares / static_cast<double>(values.size()));
  EXPECT_NEAR(static_cast<double>(histogram.mean_ns()), mean, 1 + mean * 1e-9);
  // Every value is off by at most half a bucket (1/32 of the value): so is the root mean square of
  // the error.
  EXPECT_NEAR(static_cast<double>(histogram.stddev_ns()), stddev,
              std::sqrt(mean * mean + stddev * stddev) / 16 + 1);
}

TEST(HistogramQuantile, IsWithin6PercentForEveryDistribution) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> lognormal(8, 2);
  std::exponential_distribution<double> exponential(1e-4);
  std::uniform_int_distribution<std::uint64_t> uniform(0, 1'000'000);
  const std::vector<std::function<std::uint64_t()>> distributions{
      [&] { return static_cast<std::uint64_t>(lognormal(random)); },
      [&] { return static_cast<std::uint64_t>(exponential(random)); },
      [&] { return uniform(random); },
      [&] { return random() % 40; },                               // the exact region and its edge
      [&] { return random() % 10 == 0 ? 5'000'000'000u : 700u; },  // two modes far apart
      [&] { return std::uint64_t{1} << (random() % 44); },         // bucket boundaries
      [&] { return std::min<std::uint64_t>(random() >> (random() % 64), (1ULL << 44) - 1); },
      [&] { return std::uint64_t{123'457}; },
  };
  for (const auto& draw : distributions) {
    for (const std::size_t size : {1u, 2u, 3u, 100u, 5'000u}) {
      std::vector<std::uint64_t> values(size);
      std::ranges::generate(values, draw);
      expect_close_quantiles(std::move(values));
    }
  }
}

TEST(HistogramQuantile, StaysBetweenTheExactExtremes) {
  Histogram histogram;
  histogram.add(1'000'001);
  EXPECT_EQ(histogram.quantile_ns(0.5), 1'000'001u);
  EXPECT_EQ(histogram.stddev_ns(), 0u);
  histogram.add(UINT64_MAX / 4);  // far beyond the last bucket's lower bound
  EXPECT_EQ(histogram.quantile_ns(1), UINT64_MAX / 4);
}

TEST(HistogramQuantile, OfNothingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.99), 0u);
  EXPECT_EQ(histogram.min_ns(), 0u);
  EXPECT_EQ(histogram.max_ns(), 0u);
  EXPECT_EQ(histogram.mean_ns(), 0u);
  EXPECT_EQ(histogram.stddev_ns(), 0u);
}

/// Checks certain_up_to against its definition: adds that many values at either end.
TEST(HistogramQuantile, CertaintyIsExactlyWhatLossCouldChange) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    Histogram histogram;
    const std::uint64_t size = 1 + random() % 300;
    for (std::uint64_t i = 0; i < size; ++i) histogram.add(100 + random() % 60);
    for (const double fraction : {0.50, 0.95, 0.99}) {
      const auto stays = [&](std::uint64_t lost) {
        Histogram low = histogram, high = histogram;
        low.add(0, lost);
        high.add(1'000'000, lost);
        const std::uint32_t bucket = histogram_bucket(histogram.quantile_ns(fraction));
        return histogram_bucket(low.quantile_ns(fraction)) == bucket &&
               histogram_bucket(high.quantile_ns(fraction)) == bucket;
      };
      const std::uint64_t certain = histogram.quantile(fraction).certain_up_to;
      EXPECT_TRUE(stays(certain)) << fraction << " of " << size;
      EXPECT_FALSE(stays(certain + 1)) << fraction << " of " << size;
    }
  }
}

TEST(HistogramMerge, OfWireStructsEqualsAddingTheValues) {
  std::mt19937_64 random(5);
  Histogram whole, merged, other;
  for (int part = 0; part < 3; ++part) {
    latency_histogram wire{};
    wire.min_ns = UINT64_MAX;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t value = random() >> (20 + random() % 40);
      whole.add(value);
      wire.count += 1;
      wire.total_ns += value;
      wire.min_ns = std::min<std::uint64_t>(wire.min_ns, value);
      wire.max_ns = std::max<std::uint64_t>(wire.max_ns, value);
      wire.buckets[histogram_bucket(value)] += 1;
    }
    (part == 0 ? other : merged).merge(wire);
  }
  merged.merge(other);
  EXPECT_EQ(merged, whole);
}

TEST(HistogramMerge, OfAnEmptyWireStructChangesNothing) {
  Histogram histogram;
  histogram.add(50);
  const Histogram before = histogram;
  histogram.merge(latency_histogram{});  // its min_ns of 0 is meaningless
  histogram.merge(Histogram{});
  histogram.add(7, 0);
  EXPECT_EQ(histogram, before);
}

TEST(HistogramMerge, SurvivesAWrappedKernelBucket) {
  latency_histogram wire{};
  wire.count = 1ULL << 33;
  wire.total_ns = wire.count * 100;
  wire.min_ns = 100;
  wire.max_ns = 5000;
  wire.buckets[histogram_bucket(100)] = 1000;  // the rest after a 32-bit counter wraps
  Histogram histogram;
  histogram.merge(wire);
  EXPECT_LE(histogram.quantile_ns(0.99), 106u);
}

TEST(Histogram, AcceptsADamagedCellWhoseMinimumIsAboveItsMaximum) {
  latency_histogram wire{};
  wire.count = 3;
  wire.min_ns = 1'000'000;
  wire.max_ns = 10;
  wire.buckets[histogram_bucket(100)] = 3;
  Histogram histogram;
  histogram.merge(wire);
  EXPECT_EQ(histogram.min_ns(), 10u);
  EXPECT_EQ(histogram.max_ns(), 1'000'000u);
  EXPECT_LE(histogram.min_ns(), histogram.quantile_ns(0.5));
  EXPECT_LE(histogram.quantile_ns(0.5), histogram.max_ns());
}

}  // namespace
}  // namespace overdue
