#include "base/time.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace overdue {
namespace {

using std::chrono::seconds;

TEST(ParseDuration, TakesEveryUnit) {
  EXPECT_EQ(parse_duration("100ns", "-T").count(), 100u);
  EXPECT_EQ(parse_duration("250us", "-T").count(), 250'000u);
  EXPECT_EQ(parse_duration("10ms", "-T").count(), 10'000'000u);
  EXPECT_EQ(parse_duration("1.5s", "-T").count(), 1'500'000'000u);
  EXPECT_EQ(parse_duration("5m", "-T").count(), 300'000'000'000u);
  EXPECT_EQ(parse_duration("2h", "-T").count(), 7'200'000'000'000u);
  EXPECT_EQ(parse_duration("0s", "-d").count(), 0u);
  EXPECT_EQ(parse_duration("1000000h", "-d").count(), 3'600'000'000'000'000'000u);
}

void expect_refused(std::string_view text, std::string_view why) {
  try {
    parse_duration(text, "--duration");
    ADD_FAILURE() << text << " was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(why), std::string_view::npos) << error.what();
    EXPECT_NE(std::string_view(error.what()).find("--duration"), std::string_view::npos);
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(ParseDuration, RefusesWhatCouldBeMisread) {
  expect_refused("10", "no unit");
  expect_refused("", "not a number");
  expect_refused("ms", "not a number");
  expect_refused("-1s", "negative");
  expect_refused("10 ms", "unknown unit");
  expect_refused("10parsecs", "unknown unit");
  expect_refused("0x10s", "unknown unit");
  expect_refused("inf", "not a number");
  expect_refused("nans", "not a number");
  expect_refused("9999999h", "longer");
}

TEST(FormatDuration, HasThreeDigitsAndAUnit) {
  const auto text = [](std::uint64_t ns) { return format_duration(Duration(ns)); };
  EXPECT_EQ(text(0), "0ns");
  EXPECT_EQ(text(830), "830ns");
  EXPECT_EQ(text(999), "999ns");
  EXPECT_EQ(text(1000), "1.00us");
  EXPECT_EQ(text(1240), "1.24us");
  EXPECT_EQ(text(93'000'000), "93.0ms");
  EXPECT_EQ(text(2'310'000'000), "2.31s");
  EXPECT_EQ(text(312'000'000'000), "5m12s");
}

TEST(FormatDuration, CarriesWhenRounding) {
  const auto text = [](std::uint64_t ns) { return format_duration(Duration(ns)); };
  EXPECT_EQ(text(9'994), "9.99us");
  EXPECT_EQ(text(9'995), "10.0us");
  EXPECT_EQ(text(99'949), "99.9us");
  EXPECT_EQ(text(99'950), "100us");
  EXPECT_EQ(text(999'499), "999us");
  EXPECT_EQ(text(999'500), "1.00ms");
  EXPECT_EQ(text(999'500'000), "1.00s");
  EXPECT_EQ(text(99'949'000'000), "99.9s");
  EXPECT_EQ(text(99'950'000'000), "1m40s");
  EXPECT_EQ(text(3'599'499'000'000), "59m59s");
  EXPECT_EQ(text(3'599'500'000'000), "1h00m");
  EXPECT_EQ(text(7'199'000'000'000), "2h00m");
  EXPECT_EQ(text(UINT64_MAX), "5124095h35m");  // no overflow on the way
}

TEST(FormatRfc3339, IsUtcWithMicroseconds) {
  const WallTime time{seconds(1'795'248'930) + std::chrono::nanoseconds(123'456'789)};
  EXPECT_EQ(format_rfc3339(time), "2026-11-21T08:15:30.123456Z");
  EXPECT_EQ(format_rfc3339(WallTime{}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_rfc3339(WallTime{std::chrono::nanoseconds(-1'000)}),
            "1969-12-31T23:59:59.999999Z");
}

TEST(KernelClock, IsTheSteadyClock) {
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  const auto now = KernelClock::now().time_since_epoch();
  const auto after = std::chrono::steady_clock::now().time_since_epoch();
  EXPECT_GE(now.count(), static_cast<std::uint64_t>(before.count()));
  EXPECT_LE(now.count(), static_cast<std::uint64_t>(after.count()));
}

TEST(KernelClock, IsNotShiftedByATimeNamespace) {
  EXPECT_EQ(
      monotonic_shift_ns("monotonic           0         0\nboottime            0         0\n"), 0);
  EXPECT_EQ(monotonic_shift_ns("monotonic      100000       250\nboottime      100001         0\n"),
            100'000'000'000'250);
  EXPECT_EQ(monotonic_shift_ns("boottime -5 0\nmonotonic -86400 999999999"), -86'399'000'000'001);
  EXPECT_EQ(monotonic_shift_ns(""), 0) << "a kernel without time namespaces";
  EXPECT_EQ(monotonic_shift_ns("monotonic"), 0);
}

TEST(SplitSeconds, RoundsDownAndTakesAnyInstant) {
  const auto split = [](std::int64_t ns) {
    const WallSeconds parts = split_seconds(WallTime(std::chrono::nanoseconds(ns)));
    return std::pair(parts.seconds, parts.nanoseconds);
  };
  EXPECT_EQ(split(0), std::pair(std::int64_t{0}, 0u));
  EXPECT_EQ(split(1'999'999'999), std::pair(std::int64_t{1}, 999'999'999u));
  EXPECT_EQ(split(-1), std::pair(std::int64_t{-1}, 999'999'999u));
  EXPECT_EQ(split(-1'000'000'000), std::pair(std::int64_t{-1}, 0u));
  EXPECT_EQ(split(INT64_MIN), std::pair(std::int64_t{-9'223'372'037}, 145'224'192u));
  EXPECT_EQ(split(INT64_MAX), std::pair(std::int64_t{9'223'372'036}, 854'775'807u));
  EXPECT_EQ(format_rfc3339(WallTime::min()), "1677-09-21T00:12:43.145224Z");
}

TEST(ParseDuration, ShowsNothingHostileInItsMessage) {
  try {
    parse_duration("\x1b[31m", "--duration");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace overdue
