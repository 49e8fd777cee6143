#include "report/stalls/thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "base/error.h"

namespace overdue::thresholds_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Thresholds, OneTimeIsForAll) {
  const Thresholds thresholds = parse_thresholds({"10ms"});
  EXPECT_EQ(thresholds.of(SPAN_SYSCALL), Duration(10ms));
  EXPECT_EQ(thresholds.of(SPAN_OFFCPU), Duration(10ms));
  EXPECT_EQ(thresholds.of_call(SYS_futex), Duration(10ms));
  EXPECT_EQ(thresholds.least({SPAN_SYSCALL, SPAN_OFFCPU, SPAN_BLOCK}), Duration(10ms));
}

std::string refusal(const std::string& asked, const std::string& recorded,
                    const std::vector<span_kind>& kinds = {SPAN_SYSCALL}) {
  try {
    check_narrower(parse_thresholds({asked}), parse_thresholds({recorded}), kinds);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Thresholds, OfARecordingMayBecomeLongerOnly) {
  EXPECT_EQ(refusal("10ms", "10ms"), "");
  EXPECT_EQ(refusal("20ms", "10ms"), "");
  EXPECT_EQ(refusal("5ms", "10ms"), "the recording has no syscall that took less than 10.0ms");
  EXPECT_EQ(refusal("20ms", "10ms,futex=1s"),
            "the recording has no futex that took less than 1.00s");
  EXPECT_EQ(refusal("20ms,futex=1s", "10ms,futex=1s"), "");
  EXPECT_EQ(refusal("20ms", "fsync=5ms"), "the recording has no syscall");
  EXPECT_EQ(refusal("fsync=6ms", "fsync=5ms"), "");
  EXPECT_EQ(refusal("10ms", "10ms,offcpu=50ms", {SPAN_SYSCALL, SPAN_OFFCPU}),
            "the recording has no offcpu that took less than 50.0ms");
  EXPECT_EQ(refusal("20ms", "10ms,thread:web-*=50ms"),
            "the recording has no syscall that took less than 50.0ms");
  EXPECT_EQ(refusal("10ms,thread:web-*=50ms", "10ms,thread:web-*=50ms"), "");
  EXPECT_EQ(refusal("p99", "p99"), "");
  EXPECT_EQ(refusal("p99.9", "p99"),
            "a percentile is chosen while operations are measured, not from a recording");
  EXPECT_EQ(refusal("10ms", "p99"),
            "the thresholds of this recording are percentiles (p99), and no times");
}

TEST(Thresholds, NamesGoBeforeKindsBeforeAll) {
  const Thresholds thresholds = parse_thresholds({"10ms,futex=1s", "syscall=5ms", "openat=5us"});
  EXPECT_EQ(thresholds.of_call(SYS_futex), Duration(1s));
  EXPECT_EQ(thresholds.of_call(SYS_openat), Duration(5us));
  EXPECT_EQ(thresholds.of_call(SYS_read), Duration(5ms));
  EXPECT_EQ(thresholds.of(SPAN_BLOCK), Duration(10ms));
  EXPECT_EQ(thresholds.least({SPAN_SYSCALL, SPAN_OFFCPU, SPAN_BLOCK}), Duration(5us));
}

TEST(Thresholds, OnlySomeCallsMayHaveOne) {
  const Thresholds thresholds = parse_thresholds({"fsync=5ms"});
  EXPECT_EQ(thresholds.of_call(SYS_fsync), Duration(5ms));
  EXPECT_EQ(thresholds.of_call(SYS_read), std::nullopt);
  EXPECT_EQ(thresholds.of(SPAN_SYSCALL), std::nullopt);
}

TEST(Thresholds, OfOneNanosecondLeaveOutNoSpan) {
  const std::vector<span_kind> kinds = {SPAN_OFFCPU, SPAN_IRQ};
  EXPECT_TRUE(parse_thresholds({"1ns"}).are_of_every_span(kinds));
  EXPECT_TRUE(parse_thresholds({"10ms,offcpu=1ns,irq=1ns"}).are_of_every_span(kinds));
  EXPECT_TRUE(parse_thresholds({"1ns,futex=1s"}).are_of_every_span(kinds)) << "of calls";
  EXPECT_FALSE(parse_thresholds({"1ns,irq=2ns"}).are_of_every_span(kinds));
  EXPECT_FALSE(parse_thresholds({"offcpu=1ns"}).are_of_every_span(kinds)) << "irq has none";
  EXPECT_FALSE(parse_thresholds({"1ns,thread:x=1ms"}).are_of_every_span(kinds));
}

TEST(Thresholds, MayBePercentilesBesideTimes) {
  const Thresholds all = parse_thresholds({"p99"});
  EXPECT_EQ(all.percentile_of(SPAN_BLOCK), Percentile{990'000});
  EXPECT_EQ(all.percentile_of_call(SYS_read), Percentile{990'000});
  EXPECT_EQ(all.percentile_of_pair("life"), Percentile{990'000});
  EXPECT_EQ(all.of(SPAN_SYSCALL), std::nullopt);
  EXPECT_EQ(all.least({SPAN_SYSCALL}), Duration::max());

  const Thresholds mixed = parse_thresholds({"10ms", "read=p99.9,block=p95,write=1ms"});
  EXPECT_EQ(mixed.of_call(SYS_read), std::nullopt);
  EXPECT_EQ(mixed.percentile_of_call(SYS_read), Percentile{999'000});
  EXPECT_EQ(mixed.percentile_of_call(SYS_write), std::nullopt);
  EXPECT_EQ(mixed.of_call(SYS_write), Duration(1ms));
  EXPECT_EQ(mixed.of_call(SYS_fsync), Duration(10ms));
  EXPECT_EQ(mixed.of(SPAN_BLOCK), std::nullopt);
  EXPECT_EQ(mixed.percentile_of(SPAN_BLOCK), Percentile{950'000});
  EXPECT_EQ(mixed.percentile_of(SPAN_SYSCALL), std::nullopt);
  EXPECT_TRUE(mixed.has_percentile(SPAN_SYSCALL));
  EXPECT_FALSE(mixed.has_percentile(SPAN_IRQ));

  const Thresholds call_time = parse_thresholds({"p99,syscall=p50,read=2ms"});
  EXPECT_EQ(call_time.percentile_of_call(SYS_write), Percentile{500'000});
  EXPECT_EQ(call_time.of_call(SYS_read), Duration(2ms));
  EXPECT_EQ(to_text(parse_thresholds({"p99,read=p99.9,write=1ms"})), "write=1.00ms,p99,read=p99.9");
}

TEST(Thresholds, ChangeBetweenTimeAndPercentile) {
  Thresholds all = parse_thresholds({"p99,read=1ms"});
  change_thresholds(all, "10ms,read=p99", {});
  EXPECT_EQ(all.percentile_of(SPAN_SYSCALL), std::nullopt);
  EXPECT_EQ(all.of(SPAN_SYSCALL), Duration(10ms));
  EXPECT_EQ(all.percentile_of_call(SYS_read), Percentile{990'000});
  EXPECT_THROW(change_thresholds(all, "20ms,read=p101", {}), Error);
  EXPECT_EQ(all.of(SPAN_SYSCALL), Duration(10ms)) << "an error changes nothing";
}

TEST(Thresholds, PercentilesAreNotOfThreads) {
  const auto check = [](const char* list) { parse_thresholds({list}).check({SPAN_SYSCALL}); };
  EXPECT_NO_THROW(check("p99"));
  EXPECT_NO_THROW(check("read=p99,thread:web-*=5ms"));
  EXPECT_THROW(check("p99,thread:web-*=5ms"), Error);
  EXPECT_THROW(check("thread:web-*=p99"), Error);
  EXPECT_THROW(check("block=p99"), Error);
  EXPECT_NO_THROW(parse_thresholds({"10ms"}).check_times());
  EXPECT_THROW(parse_thresholds({"10ms,read=p99"}).check_times(), Error);
}

TEST(Thresholds, TheLastOneCounts) {
  EXPECT_EQ(parse_thresholds({"thread:a=1ms,thread:a=2ms"}).of_thread(SPAN_LOCK, "a"),
            Duration(2ms));
  EXPECT_EQ(parse_thresholds({"10ms", "20ms"}).general, Duration(20ms));
  EXPECT_EQ(parse_thresholds({"futex=1s,futex=2s"}).of_call(SYS_futex), Duration(2s));
}

TEST(Thresholds, AreRefusedWithWhatWouldBeRight) {
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{}, "no threshold"},
      {{""}, "no threshold"},
      {{"10"}, "unit"},
      {{"0ms"}, "threshold of 0"},
      {{"futex=0s"}, "threshold of 0"},
      {{"futx=1s"}, "'futx' is neither"},
      {{"=1s"}, "'' is neither"},
      {{"futex="}, ""},
      {{"futex=p100"}, "p50 to p99.99"},
      {{"-5ms"}, ""},
      {{"10ms,fu\033tex=1s"}, "fu\\x1btex"}};
  for (const auto& [values, words] : wrong) {
    try {
      parse_thresholds(values);
      ADD_FAILURE() << "accepted: " << ::testing::PrintToString(values);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
      EXPECT_THAT(error.hint(), Not(IsEmpty())) << error.what();
      EXPECT_EQ(error.exit_status(), 2);
    }
  }
}

}  // namespace
}  // namespace overdue::thresholds_test
