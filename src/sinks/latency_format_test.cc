// The kernel's latency format, to the letter, as in the kernel's documentation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sinks/latency_format.h"
#include "sinks/make_sink.h"
#include "sinks/window_sections.h"

namespace overdue {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StackFrame kernel_frame(std::string name) {
  return {.name = std::move(name), .module = "[kernel]", .is_kernel = true};
}

WindowEvent idle_event(worst_event_kind kind, std::uint64_t ns, std::string flags) {
  WindowEvent event;
  event.time_ns = 1'000'000'000 + ns;
  event.cpu = 3;
  event.prio = 120;
  event.kind = kind;
  event.flags = std::move(flags);
  event.other = {0, 2389, "sleep"};
  event.other_prio = 94;
  event.number = 3;
  return event;
}

/// The example of the kernel's documentation: `chrt -f 5 sleep 1`.
LatencyWindow chrt_sleep() {
  LatencyWindow window;
  window.tracer = "wakeup_rt";
  window.number = 1;
  window.begin_ns = 1'000'000'000;
  window.latency_ns = 15'300;
  window.queued_ns = 1'200;
  window.time = KernelTime(std::chrono::nanoseconds(1'000'015'300));
  window.thread = {2389, 2389, "sleep"};
  window.cpu = window.queued_cpu = 3;
  window.policy = 1;
  window.rt_priority = 5;
  window.prio = 94;
  window.waker = {0, 0, "swapper/3"};
  window.waker_cpu = 3;
  window.preemption = "preempt";
  window.waking_stack = {kernel_frame("try_to_wake_up"), kernel_frame("hrtimer_wakeup")};
  window.end_stack = {kernel_frame("__schedule"), kernel_frame("schedule")};
  window.events = {idle_event(WORST_EVENT_WAKING, 0, "d.h4"),
                   idle_event(WORST_EVENT_WAKEUP, 1'200, "dNh4"),
                   idle_event(WORST_EVENT_SWITCH, 15'300, "d..3")};
  return window;
}

SessionInfo session() {
  SessionInfo info;
  info.version = "0.1.0";
  info.command = "worst";
  info.kernel = "3.8.0-test+";
  info.cpus = 4;
  return info;
}

TEST(LatencyFormat, IsTheKernels) {
  EXPECT_EQ(latency_format(chrt_sleep(), session()),
            R"(# tracer: wakeup_rt
#
# wakeup_rt latency trace v1.1.5 on 3.8.0-test+
# --------------------------------------------------------------------
# latency: 15 us, #7/7, CPU#3 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)
#    -----------------
#    | task: sleep-2389 (uid:0 nice:0 policy:1 rt_prio:5)
#    -----------------
#
#                  _------=> CPU#
#                 / _-----=> irqs-off
#                | / _----=> need-resched
#                || / _---=> hardirq/softirq
#                ||| / _--=> preempt-depth
#                |||| /     delay
#  cmd     pid   ||||| time  |   caller
#     \   /      |||||  \    |   /
  <idle>-0       3d.h4    0us : sched_waking: comm=sleep pid=2389 prio=94 target_cpu=003
  <idle>-0       3d.h4    0us : <stack trace>
 => try_to_wake_up
 => hrtimer_wakeup
  <idle>-0       3d.h4    0us : try_to_wake_up <-hrtimer_wakeup
  <idle>-0       3dNh4    1us+:      0:120:R   + [003]  2389: 94:R sleep
  <idle>-0       3d..3   15us : __schedule <-schedule
  <idle>-0       3d..3   15us :      0:120:R ==> [003]  2389: 94:R sleep
  <idle>-0       3d..3   15us : <stack trace>
 => __schedule
 => schedule
)");
}

TEST(LatencyFormat, LineOfAWakeUpIsThatOfTheDocumentation) {
  LatencyWindow window = chrt_sleep();
  WindowEvent& event = window.events[1];
  event.time_ns = window.begin_ns;
  event.flags = "dNs7";
  event.other = {0, 312, "kworker/3:1H"};
  event.other_prio = 100;
  EXPECT_THAT(latency_format(window, session()),
              HasSubstr("\n  <idle>-0       3dNs7    0us+:      0:120:R   + [003]   312:100:R "
                        "kworker/3:1H\n"));
}

TEST(LatencyFormat, MarksAreOfTheTimeToTheNextLine) {
  EXPECT_EQ(delay_mark(10'000), ' ');
  EXPECT_EQ(delay_mark(10'001), '+');
  EXPECT_EQ(delay_mark(100'000), '+');
  EXPECT_EQ(delay_mark(100'001), '!');
  EXPECT_EQ(delay_mark(1'000'000), '!');
  EXPECT_EQ(delay_mark(1'000'001), '#');
  EXPECT_EQ(delay_mark(10'000'000), '#');
  EXPECT_EQ(delay_mark(10'000'001), '*');
  EXPECT_EQ(delay_mark(100'000'000), '*');
  EXPECT_EQ(delay_mark(100'000'001), '@');
  EXPECT_EQ(delay_mark(1'000'000'000), '@');
  EXPECT_EQ(delay_mark(1'000'000'001), '$');
}

TEST(LatencyFormat, CountsWhatWasLostAmongTheEntries) {
  LatencyWindow window = chrt_sleep();
  window.lost_events = 40;
  EXPECT_THAT(latency_format(window, session()), HasSubstr("15 us, #7/47, CPU#3"));
}

TEST(LatencyFormat, SaysOfALowerBoundThatItIsOne) {
  LatencyWindow window = chrt_sleep();
  EXPECT_THAT(latency_format(window, session()), Not(HasSubstr("at least")));
  window.lower_bound = "a timer interrupt that came late";
  EXPECT_THAT(latency_format(window, session()),
              HasSubstr("#  => at least that: a timer interrupt that came late\n"));
}

TEST(LatencyFormat, OfALowerBoundShowsBothEndsOfWhatIsKnown) {
  LatencyWindow window = chrt_sleep();
  window.lower_bound = "a timer interrupt that came late";
  window.events.clear();
  const std::string both = latency_format(window, session());
  EXPECT_THAT(both, HasSubstr("15 us, #4/4, CPU#3"));
  EXPECT_THAT(both,
              HasSubstr("   sleep-2389    3XXXX    0us : try_to_wake_up <-hrtimer_wakeup\n"
                        "   sleep-2389    3XXXX    0us+: <stack trace>\n => try_to_wake_up\n"));
  EXPECT_THAT(both, HasSubstr("   sleep-2389    3XXXX   15us : __schedule <-schedule\n"));
  window.waking_stack.clear();
  const std::string end_only = latency_format(window, session());
  EXPECT_THAT(end_only, Not(HasSubstr("try_to_wake_up")));
  EXPECT_THAT(end_only, HasSubstr("15 us, #2/2, CPU#3"));
  EXPECT_THAT(end_only, HasSubstr("   15us : <stack trace>\n => __schedule\n => schedule\n"));
}

TEST(LatencyFormat, EscapesNamesThatThreadsGaveThemselves) {
  LatencyWindow window = chrt_sleep();
  window.thread.comm = "\x1b[31mred";
  window.events[0].thread = {7, 7, "a\nb"};
  const std::string text = latency_format(window, session());
  EXPECT_THAT(text, HasSubstr("task: \\x1b[31mred-2389"));
  EXPECT_THAT(text, HasSubstr("    a\\nb-7    "));
}

TEST(LatencyFormat, OfTheKernelsTracerIsItsOwnText) {
  LatencyWindow window = chrt_sleep();
  window.kernel_text = "# tracer: wakeup\n#  \\   /\n  a\x1b[0m-7  us : x\n";
  EXPECT_EQ(latency_format(window, session()),
            "# tracer: wakeup\n#  \\   /\n  a\\x1b[0m-7  us : x\n");
}

TEST(LatencyFormat, InColorTheFirstLineThatIsToBeRescheduledIsBold) {
  LatencyWindow window = chrt_sleep();
  window.events[2].flags = "dN.3";
  const std::string plain = latency_format(window, session());
  const std::string line =
      "  <idle>-0       3dNh4    1us+:      0:120:R   + [003]  2389: 94:R sleep";
  std::string bold = plain;
  bold.replace(bold.find(line), line.size(), "\x1b[1m" + line + "\x1b[0m");
  EXPECT_EQ(latency_format(window, session(), true), bold);
  window.kernel_text = plain;
  EXPECT_EQ(latency_format(window, session(), true), bold);
  window.kernel_text = "# 1dN.. 1us : a\n  us : x\nus : \n: us\n    N-7 1d... 3us : dNh us : y\n";
  EXPECT_EQ(latency_format(window, session(), true), window.kernel_text);
}

TEST(LatencyFormat, PrintsInterruptsAsTheKernelDoes) {
  LatencyWindow window = chrt_sleep();
  WindowEvent irq = idle_event(WORST_EVENT_IRQ_ENTRY, 2'000, "d.h1");
  irq.number = 24;
  irq.name = "virtio1-req.0";
  WindowEvent handled = irq;
  handled.kind = WORST_EVENT_IRQ_EXIT;
  handled.state = 1;
  WindowEvent vector = idle_event(WORST_EVENT_VECTOR_ENTRY, 3'000, "d.h1");
  vector.number = 236;
  vector.state = 1;
  WindowEvent softirq = idle_event(WORST_EVENT_SOFTIRQ_EXIT, 4'000, "..s1");
  WindowEvent moved = idle_event(WORST_EVENT_MIGRATE, 5'000, "d..3");
  moved.state = 1;
  window.events.insert(window.events.begin() + 2, {irq, handled, vector, softirq, moved});
  const std::string text = latency_format(window, session());
  EXPECT_THAT(text, HasSubstr(": irq_handler_entry: irq=24 name=virtio1-req.0\n"));
  EXPECT_THAT(text, HasSubstr(": irq_handler_exit: irq=24 ret=handled\n"));
  EXPECT_THAT(text, HasSubstr(": local_timer_entry: vector=236\n"));
  EXPECT_THAT(text, HasSubstr("3..s1    4us : softirq_exit: vec=3 [action=NET_RX]\n"));
  EXPECT_THAT(text,
              HasSubstr(": sched_migrate_task: comm=sleep pid=2389 prio=94 orig_cpu=1 dest_cpu=3"));
}

std::string text_of(std::string_view format, const SectionPtr& section) {
  std::string text;
  Output output(text);
  const auto sink = make_sink(format, output, {});
  sink->begin(session());
  sink->section(section);
  sink->end(session(), {});
  return text;
}

nlohmann::json written(std::string_view format, const std::vector<LatencyWindow>& windows) {
  const std::string text = text_of(format, std::make_shared<WorstSection>(windows));
  return nlohmann::json::parse(format == "json" ? text : text.substr(0, text.find('\n')));
}

TEST(LatencyWindowJson, HasIntegersAndEveryEvent) {
  const nlohmann::json report = written("json", {chrt_sleep()});
  const nlohmann::json& window = report.at("worst").at(0);
  EXPECT_EQ(window.at("tracer"), "wakeup_rt");
  EXPECT_EQ(window.at("latency_ns"), 15'300);
  EXPECT_EQ(window.at("queued_ns"), 1'200);
  EXPECT_EQ(window.at("exact"), true);
  EXPECT_EQ(window.at("tid"), 2389);
  EXPECT_EQ(window.at("waker").at("comm"), "swapper/3");
  EXPECT_EQ(window.at("waker").at("stack").at(1).at("name"), "hrtimer_wakeup");
  ASSERT_EQ(window.at("events").size(), 3u);
  EXPECT_EQ(window.at("events").at(2).at("event"), "sched_switch");
  EXPECT_EQ(window.at("events").at(2).at("since_begin_ns"), 15'300);
  EXPECT_EQ(window.at("events").at(2).at("other").at("prio"), 94);
}

TEST(LatencyWindowJson, OfTheKernelsTracerHasItsLines) {
  LatencyWindow own = chrt_sleep();
  own.kernel_text = "# tracer: wakeup_rt\n x\n";
  const nlohmann::json window = written("json", {own}).at("worst").at(0);
  EXPECT_EQ(window.at("lines"), nlohmann::json({"# tracer: wakeup_rt", " x"}));
  EXPECT_EQ(window.at("latency_ns"), 15'300);
  EXPECT_FALSE(window.contains("events"));
}

TEST(LatencyWindowJson, OfALowerBoundSaysThatAndHasNoWaker) {
  LatencyWindow bound = chrt_sleep();
  bound.lower_bound = "a timer interrupt that came late";
  bound.events.clear();
  const nlohmann::json window = written("json", {bound}).at("worst").at(0);
  EXPECT_EQ(window.at("exact"), false);
  EXPECT_EQ(window.at("lower_bound"), "a timer interrupt that came late");
  EXPECT_EQ(window.at("begin_stack").at(0).at("name"), "try_to_wake_up");
  EXPECT_EQ(window.at("end_stack").at(0).at("name"), "__schedule");
  EXPECT_FALSE(window.contains("waker"));
}

TEST(LatencyWindowJson, IsALineOfAStream) {
  const nlohmann::json line = written("ndjson", {chrt_sleep()});
  EXPECT_EQ(line.at("type"), "worst");
  EXPECT_EQ(line.at("latency_ns"), 15'300);
}

TEST(LatencyWindowJson, OfAStreamStandsInItsLinesOnly) {
  const std::string text =
      text_of("ndjson", std::make_shared<WorstSection>(std::vector{chrt_sleep(), chrt_sleep()}));
  std::vector<nlohmann::json> lines;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].at("type"), "worst");
  EXPECT_EQ(lines[2].at("type"), "report");
  EXPECT_FALSE(lines[2].contains("worst"));
  EXPECT_EQ(text_of("ndjson", std::make_shared<WindowSection>(chrt_sleep()))
                .find("{\"type\":\"worst\",\"tracer\":\"wakeup_rt\","),
            0u);
}

TEST(LatencyWindowText, HasAnEmptyLineBetweenWindows) {
  const std::string one = latency_format(chrt_sleep(), session());
  const auto two = std::make_shared<WorstSection>(std::vector{chrt_sleep(), chrt_sleep()});
  EXPECT_THAT(text_of("text", two), HasSubstr("\n\n" + one + "\n" + one + "\n"));
}

TEST(LatencyWindowJson, OfNothingIsAnEmptyArray) {
  EXPECT_EQ(written("json", {}).at("worst").size(), 0u);
}

}  // namespace
}  // namespace overdue
