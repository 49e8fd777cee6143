#include "kernel/program_runs.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace overdue {
namespace {

/// The run_cost of a program whose timed runs took `times` and represent `numbers` of runs.
run_cost written(const std::vector<u64>& times, const std::vector<u64>& numbers, u64 behind = 0) {
  run_cost cost{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    cost.priced += numbers[i];
    cost.ns += times[i] * numbers[i];
    cost.squares += times[i] * times[i] * numbers[i];
    cost.weights += numbers[i] * numbers[i];
  }
  cost.runs = cost.priced + behind;
  return cost;
}

TEST(ProgramRuns, NoRunCostsNothing) {
  const ProgramRuns none = price(std::array{run_cost{}});
  EXPECT_EQ(none.runs, 0u);
  EXPECT_EQ(none.ns, 0);
}

TEST(ProgramRuns, ATimedRunStandsForThoseBeforeIt) {
  const ProgramRuns runs = price(std::array{written({100, 200}, {1, 9})});
  EXPECT_EQ(runs.runs, 10u);
  EXPECT_DOUBLE_EQ(runs.ns, 1900);
}

TEST(ProgramRuns, WhatCameBehindTheLastTimedOneCostsAsMuch) {
  const ProgramRuns runs = price(std::array{written({100, 100}, {10, 10}, 20)});
  EXPECT_EQ(runs.runs, 40u);
  EXPECT_DOUBLE_EQ(runs.ns, 4000);
}

TEST(ProgramRuns, CpusArePricedEachByItsOwn) {
  const ProgramRuns runs = price(std::array{written({100}, {1}, 9), written({1000}, {1}, 9)});
  EXPECT_EQ(runs.runs, 20u);
  EXPECT_DOUBLE_EQ(runs.ns, 11'000);
}

TEST(ProgramRuns, EqualRunsHaveNoSpread) {
  EXPECT_NEAR(
      price(std::array{written(std::vector<u64>(50, 100), std::vector<u64>(50, 7))}).variance, 0,
      1e-6);
}

TEST(ProgramRuns, ASingleTimedRunMayBeAsWrongAsItIsLong) {
  const ProgramRuns runs = price(std::array{written({100}, {1}, 9)});
  EXPECT_DOUBLE_EQ(std::sqrt(runs.variance), runs.ns);
}

TEST(ProgramRuns, MoreTimedRunsOfASpreadSayMore) {
  const auto relative_error = [](std::size_t runs) {
    std::vector<u64> times;
    for (std::size_t i = 0; i < runs; ++i) times.push_back(i % 2 ? 100 : 300);
    const ProgramRuns priced = price(std::array{written(times, std::vector<u64>(runs, 251))});
    return std::sqrt(priced.variance) / priced.ns;
  };
  EXPECT_NEAR(relative_error(100), 0.5 / 10, 0.005);  // the spread is half of the mean
  EXPECT_NEAR(relative_error(10'000), 0.5 / 100, 0.0005);
}

}  // namespace
}  // namespace overdue
