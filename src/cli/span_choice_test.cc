// The meaning of `--span` and `-T` of `overdue stalls`.
#include "live/span_choice.h"
#include "live/event_choice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/error.h"
#include "cli/help.h"
#include "core/span_kinds.h"
#include "live/ready_spans.h"
#include "probes/spans.h"
#include "report/stalls/thresholds.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

const std::string life =
    "life=begin:sched:sched_process_fork,end:sched:sched_process_exit,key:child->pid,"
    "end-key:p->pid";
constexpr std::uint32_t futex = 202, fsync = 74;

int status_of(const auto& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return error.exit_status();
  }
  return 0;
}

TEST(SpanKinds, OneTableForAll) {
  std::set<std::string_view> names;
  std::uint16_t last = SPAN_NONE;
  for (const SpanKind* kind : span_kinds()) {
    EXPECT_EQ(kind->number, last + 1) << kind->name;
    last = kind->number;
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_FALSE(kind->sentence.empty());
    EXPECT_EQ(span_name(kind->number), kind->name);
    if (kind->number != SPAN_PAIR) {
      EXPECT_EQ(find_span_kind(kind->name), kind->number);
      EXPECT_NE(help_text("stalls").find(std::string(kind->name)), std::string::npos) << kind->name;
    }
  }
  EXPECT_EQ(last, SPAN_COUNT - 1);
  EXPECT_EQ(find_span_kind("pair"), std::nullopt);
  EXPECT_EQ(span_name(SPAN_NONE), "unknown");
  EXPECT_EQ(span_name(SPAN_COUNT), "unknown");
}

TEST(SpanKinds, EachIsMeasuredBySomething) {
  for (const SpanKind* kind : span_kinds()) {
    const bool by_sched_or_calls = kind->number == SPAN_SYSCALL || kind->number == SPAN_OFFCPU ||
                                   kind->number == SPAN_WAKEUP || kind->number == SPAN_PAIR;
    EXPECT_EQ(span_source(kind->number) == nullptr, by_sched_or_calls) << kind->name;
  }
}

TEST(SpanChoice, Kinds) {
  EXPECT_EQ(parse_spans({}).kinds, std::vector{SPAN_SYSCALL});
  EXPECT_EQ(parse_spans({"irq,block", "irq"}).kinds, (std::vector{SPAN_BLOCK, SPAN_IRQ}));
  const SpanChoice all = parse_spans({"all"});
  EXPECT_TRUE(all.is_optional(SPAN_IRQ));
  EXPECT_FALSE(parse_spans({"irq"}).is_optional(SPAN_IRQ))
      << "who names a kind gets it or an error";
  EXPECT_FALSE(parse_spans({"irq,all"}).is_optional(SPAN_IRQ));
  EXPECT_FALSE(parse_spans({"all,irq"}).is_optional(SPAN_IRQ));
  EXPECT_EQ(all.kinds.size(), span_kinds().size() - 1) << "all but the user's own";
  EXPECT_FALSE(all.has(SPAN_PAIR));
  for (const char* wrong : {"", ",", "bogus", "irq,bogus", "pair", "none"})
    EXPECT_EQ(status_of([&] { parse_spans({wrong}); }), 2) << wrong;
}

TEST(EventChoice, MayLeaveOutWhatOnlyAGroupBrings) {
  EXPECT_EQ(parse_events({"net"}).of_groups,
            kinds_of({SPAN_TCP_CONNECT, SPAN_TCP_ANSWER, SPAN_UNIX_ANSWER}));
  EXPECT_EQ(parse_events({"unix_answer,net"}).of_groups,
            kinds_of({SPAN_TCP_CONNECT, SPAN_TCP_ANSWER}));
  EXPECT_EQ(parse_events({"net", "unix_answer"}).of_groups,
            kinds_of({SPAN_TCP_CONNECT, SPAN_TCP_ANSWER}));
  EXPECT_EQ(parse_events({"unix_answer"}).of_groups, 0U);
}

TEST(EventChoice, HasMeasurementsOfOtherCommands) {
  const EventChoice events = parse_events({"syscalls,timerlat", "worst:wakeup_rt"});
  EXPECT_TRUE(events.calls);
  EXPECT_EQ(events.own, (std::vector<std::string>{"timerlat", "worst:wakeup_rt"}));
  EXPECT_TRUE(events.spans.empty());
  const EventChoice set = parse_events({"sched,hwlat:width=1ms", "timerlat:period=1ms,irq", life});
  EXPECT_EQ(set.own, (std::vector<std::string>{"hwlat:width=1ms", "timerlat:period=1ms"}));
  EXPECT_EQ(set.spans, (std::vector<std::string>{"offcpu", "wakeup", "irq", life}))
      << "a user span has = and commas, too";
  for (const char* wrong : {"hwlatency", "sched:irqsoff", "timer_lat"})
    EXPECT_EQ(status_of([&] { parse_events({wrong}); }), 2) << wrong;
}

TEST(SpanChoice, OnesOfTheUser) {
  const SpanChoice choice = parse_spans({"irq", life});
  EXPECT_EQ(choice.kinds, (std::vector{SPAN_IRQ, SPAN_PAIR}));
  EXPECT_EQ(choice.pair_names(), std::vector<std::string>{"life"});
  EXPECT_EQ(status_of([] { parse_spans({life, life}); }), 2);
  EXPECT_EQ(status_of([] { parse_spans({"irq" + life.substr(4)}); }), 2) << "a name that is taken";
  EXPECT_EQ(status_of([] { parse_spans({"x=begin:foo"}); }), 2);
  std::vector<std::string> many;
  for (char name = 'a'; name <= 'i'; ++name) many.push_back(name + life.substr(4));
  EXPECT_EQ(status_of([&] { parse_spans(many); }), 2);
  many.pop_back();
  EXPECT_EQ(parse_spans(many).pairs.size(), 8U);
}

TEST(SpanChoice, ReadyMadeOnes) {
  const SpanChoice choice = parse_spans({"dns,irq,dns", life});
  EXPECT_EQ(choice.kinds, (std::vector{SPAN_IRQ, SPAN_PAIR}));
  EXPECT_EQ(choice.pair_names(), (std::vector<std::string>{"dns", "life"}));
  EXPECT_EQ(parse_spans({"connect"}).kinds, std::vector{SPAN_TCP_CONNECT});
  EXPECT_TRUE(parse_spans({"all"}).pairs.empty());
  EXPECT_EQ(status_of([] { parse_spans({"dns", "dns" + life.substr(4)}); }), 2) << "two of a name";
}

TEST(ReadySpans, AreDefinedOnceAndDescribed) {
  std::set<std::string_view> names;
  for (const ReadySpan& ready : ready_spans()) {
    EXPECT_TRUE(names.insert(ready.name).second) << ready.name;
    EXPECT_FALSE(find_span_kind(ready.name)) << ready.name;
    EXPECT_FALSE(ready.sentence.empty());
    const PairSpec pair = pair_of(ready);
    EXPECT_EQ(pair.name, ready.name);
    EXPECT_TRUE(pair.is_ready_made);
    EXPECT_NE(help_text("spans").find(ready.name), std::string::npos) << ready.name;
    EXPECT_NE(help_text("stalls").find(ready.name), std::string::npos) << ready.name;
  }
}

TEST(Thresholds, TheMostSpecialCounts) {
  const Thresholds set = parse_thresholds(
      {"10ms,futex=1s,offcpu=50ms", "thread:dw-*=5ms,thread:d*=7ms,life=2s"}, {"life"});
  EXPECT_EQ(set.general, 10ms);
  EXPECT_EQ(set.of(SPAN_OFFCPU), 50ms);
  EXPECT_EQ(set.of(SPAN_IRQ), 10ms);
  EXPECT_EQ(set.of_call(futex), 1s);
  EXPECT_EQ(set.of_call(fsync), 10ms);
  EXPECT_EQ(set.by_pair.at("life"), 2s);
  EXPECT_EQ(set.of_thread(SPAN_OFFCPU, "dw-1"), 5ms) << "the first that matches";
  EXPECT_EQ(set.of_thread(SPAN_OFFCPU, "dx"), 7ms);
  EXPECT_EQ(set.of_thread(SPAN_OFFCPU, "other"), 50ms);
  EXPECT_EQ(set.of_thread(SPAN_IRQ, "dw-1"), 10ms) << "the interrupted thread is chance";
  EXPECT_EQ(set.least_of(SPAN_OFFCPU), 5ms);
  EXPECT_EQ(set.least_of(SPAN_IRQ), 10ms);
  EXPECT_EQ(set.least({SPAN_IRQ}), 10ms);
  EXPECT_EQ(set.least({SPAN_IRQ, SPAN_SYSCALL}), 5ms);
}

TEST(Thresholds, WithoutABareOne) {
  const Thresholds set = parse_thresholds({"thread:web=5ms,fsync=1ms"});
  EXPECT_EQ(set.of(SPAN_SYSCALL), std::nullopt);
  EXPECT_EQ(set.of_thread(SPAN_SYSCALL, "web"), 5ms);
  EXPECT_EQ(set.of_thread(SPAN_SYSCALL, "other"), std::nullopt);
  EXPECT_EQ(set.least_of(SPAN_SYSCALL), 5ms);
  EXPECT_EQ(set.least({SPAN_SYSCALL}), 1ms);
  EXPECT_EQ(set.least({SPAN_IRQ}), Duration::max());
}

TEST(Thresholds, EachSpanHasOneAndEachOneASpan) {
  const auto status = [](const std::vector<std::string>& values, std::vector<span_kind> kinds,
                         const std::vector<std::string>& pairs = {}) {
    return status_of([&] { parse_thresholds(values, pairs).check(kinds, pairs); });
  };
  EXPECT_EQ(status({"1ms"}, {SPAN_SYSCALL, SPAN_IRQ, SPAN_PAIR}, {"life"}), 0);
  EXPECT_EQ(status({"futex=1ms"}, {SPAN_SYSCALL}), 0);
  EXPECT_EQ(status({"irq=1ms"}, {SPAN_IRQ, SPAN_BLOCK}), 2);
  EXPECT_EQ(status({"1ms,irq=1ms"}, {SPAN_BLOCK}), 2);
  EXPECT_EQ(status({"1ms,futex=1ms"}, {SPAN_IRQ}), 2);
  EXPECT_EQ(status({"life=1ms"}, {SPAN_PAIR}, {"life"}), 0);
  EXPECT_EQ(status({"life=1ms"}, {SPAN_PAIR}, {"life", "other"}), 2);
  EXPECT_EQ(status({"thread:web=1ms"}, {SPAN_LOCK}), 0);
  EXPECT_EQ(status({"thread:web=1ms"}, {SPAN_IRQ}), 2);
}

TEST(Thresholds, WhatIsNone) {
  for (const char* wrong : {"", "5", "0ms", "bogus=1ms", "pair=1ms", "thread:=1ms",
                            "futex=", "=1ms", "thread:a-name-of-twenty-cha=1ms", "1ms,,bogus"})
    EXPECT_EQ(status_of([&] { parse_thresholds({wrong}); }), 2) << wrong;
  EXPECT_EQ(parse_thresholds({"thread:a=b=5ms"}).of_thread(SPAN_LOCK, "a=b"), 5ms);
}

}  // namespace
}  // namespace overdue
