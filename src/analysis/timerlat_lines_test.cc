// Lines of the timerlat tracer of several kernels, and damaged lines.
#include <gtest/gtest.h>

#include <string>

#include "analysis/timerlat_lines.h"
#include "base/text.h"

namespace overdue {
namespace {

using Kind = TimerlatEvent::Kind;

TimerlatEvent event_of(std::string_view line) {
  const auto parsed = parse_trace_line(line);
  EXPECT_TRUE(parsed) << line;
  const auto event = parsed ? parse_timerlat_event(parsed->text) : std::nullopt;
  EXPECT_TRUE(event) << line;
  return event.value_or(TimerlatEvent{});
}

TEST(TimerlatLines, TheTwoOfAnActivation) {
  const auto line = parse_trace_line(
      "          <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       "
      "932 ns");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->comm, "<idle>");
  EXPECT_EQ(line->tid, 0u);
  EXPECT_EQ(line->cpu, 0u);
  EXPECT_EQ(line->flags, "d.h1");
  EXPECT_EQ(line->time_ns, 54'029'328'000u);
  const auto irq = parse_timerlat_event(line->text);
  ASSERT_TRUE(irq);
  EXPECT_EQ(irq->kind, Kind::irq);
  EXPECT_EQ(irq->id, 1u);
  EXPECT_EQ(irq->latency_ns, 932u);

  const TimerlatEvent thread = event_of(
      "     timerlat/5-1035    [005] .......   548.771104: #402268 context thread timer_latency    "
      " "
      "39960 ns");
  EXPECT_EQ(thread.kind, Kind::thread);
  EXPECT_EQ(thread.id, 402268u);
  EXPECT_EQ(thread.latency_ns, 39960u);
  EXPECT_EQ(event_of(" x-1 [000] ....... 5.000001: #7 context user-ret timer_latency 4 ns").kind,
            Kind::user);
}

TEST(TimerlatLines, Noise) {
  const timerlat_noise timer =
      event_of(
          "             cc1-87882   [005] dNLh1..   548.771082: irq_noise: local_timer:236 start "
          "548.771077442 duration 7597 ns")
          .noise;
  EXPECT_EQ(timer.kind, NOISE_VECTOR);
  EXPECT_EQ(timer.detail, VECTOR_LOCAL_TIMER);
  EXPECT_EQ(timer.number, 236u);
  EXPECT_EQ(timer.begin_ns, 548'771'077'442u);
  EXPECT_EQ(timer.end_ns - timer.begin_ns, 7597u);

  const timerlat_noise device =
      event_of(
          " a-1 [005] d.... 1.000000: irq_noise: virtio0-input: 1:25 start 0.000000001 "
          "duration 2 ns")
          .noise;
  EXPECT_EQ(device.kind, NOISE_IRQ);
  EXPECT_EQ(fixed_text(device.name), "virtio0-input: ");  // the first 15 bytes
  EXPECT_EQ(device.number, 25u);

  const timerlat_noise thread = event_of(
                                    " cc1-87882 [005] d...3.. 548.771102: thread_noise:      "
                                    "cc1:87882 start 548.771078243 duration 9909 ns")
                                    .noise;
  EXPECT_EQ(thread.kind, NOISE_THREAD);
  EXPECT_EQ(fixed_text(thread.name), "cc1");
  EXPECT_EQ(thread.number, 87882u);

  const timerlat_noise softirq =
      event_of(
          " a-1 [005] d.... 1.000000: softirq_noise:    TIMER:1 start 0.000000001 duration 2 ns")
          .noise;
  EXPECT_EQ(softirq.kind, NOISE_SOFTIRQ);
  EXPECT_EQ(softirq.number, 1u);
  EXPECT_EQ(
      event_of(" a-1 [005] d.... 1.000000: nmi_noise: start 0.000000001 duration 2 ns").noise.kind,
      NOISE_NMI);
  // Kernels have printed wrong durations.
  const timerlat_noise wrong =
      event_of(" a-1 [005] d.... 1.000000: nmi_noise: start 2.000000001 duration -5 ns").noise;
  EXPECT_EQ(wrong.end_ns, wrong.begin_ns);
}

TEST(TimerlatLines, NamesAreAnything) {
  const auto dashes = parse_trace_line(" -1 [0] ....-7 [0]-42   [001] ....  1.000000: x");
  ASSERT_TRUE(dashes);
  EXPECT_EQ(dashes->comm, "-1 [0] ....-7 [0]");
  EXPECT_EQ(dashes->tid, 42u);
  EXPECT_EQ(dashes->cpu, 1u);
  const timerlat_noise name = event_of(
                                  " a-1 [005] d.... 1.000000: thread_noise: a:1 start 0:77 start "
                                  "0.000000009 duration 2 ns")
                                  .noise;
  EXPECT_EQ(fixed_text(name.name), "a:1 start 0");
  EXPECT_EQ(name.number, 77u);
}

TEST(TimerlatLines, WhatIsNone) {
  for (const char* line :
       {"", "-", "# tracer: timerlat", "=> timerlat_irq", " a-1", " a-1 [000]",
        " a-1 [000] .... 1.0000: x", " a-1 [000] .... 99999999999999999999.000000: x",
        " a-99999999999 [000] .... 1.000000: x", " a-1 [000] .... 18446744073709.000000: x",
        " a-1 [000] ../. 1.000000: x", " a-1 [00x] .... 1.000000: x"})
    EXPECT_FALSE(parse_trace_line(line)) << line;
  for (const char* text :
       {"", "#", "#1", "#1 context", "#1 context irq timer_latency",
        "#1 context x timer_latency 1 ns", "#1 context irq timer_latency -1 ns", "irq_noise: x",
        "irq_noise: x start 1.000000000", "irq_noise: start 1.000000000 duration 1 ns",
        "nmi_noise: start 1.0 duration 1 ns", "sched_switch: x", "f: stop", "f: overdue-mark x"})
    EXPECT_FALSE(parse_timerlat_event(text)) << text;
}

TEST(TimerlatLines, StopsMarksAndStacks) {
  EXPECT_EQ(
      event_of("timerlat/0-17 [000] ....1.. 9.000000: timerlat_main: stop tracing hit on cpu 0")
          .kind,
      Kind::stop);
  const TimerlatEvent mark =
      event_of(" overdue-17 [000] ....1.. 9.000000: tracing_mark_write: overdue-mark 12");
  EXPECT_EQ(mark.kind, Kind::mark);
  EXPECT_EQ(mark.id, 12u);
  EXPECT_EQ(event_of(" a-1 [000] .... 9.000000: <stack trace>").kind, Kind::stack);
  const auto frame = parse_stack_line(" => timerlat_irq <ffffffff811d8b10>");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->function, "timerlat_irq");
  EXPECT_EQ(frame->address, 0xffffffff811d8b10u);
  EXPECT_EQ(parse_stack_line("=> 0")->address, 0u);
  EXPECT_FALSE(parse_stack_line(""));
  EXPECT_FALSE(parse_stack_line(" a-1 [000] .... 9.000000: #1"));
}

TEST(TimerlatLines, Lost) {
  const auto some = parse_lost_events("CPU:3 [LOST 1234 EVENTS]");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->cpu, 3u);
  EXPECT_EQ(some->events, 1234u);
  EXPECT_EQ(parse_lost_events("CPU:3 [LOST EVENTS]")->events, 1u);
  EXPECT_FALSE(parse_lost_events("CPU:x [LOST EVENTS]"));
  EXPECT_FALSE(parse_lost_events("CPU:3 [LOST 5"));
}

TEST(TimerlatLines, FlagsOfEveryVersion) {
  EXPECT_EQ(preempt_count_of("d.h1"), 0x80010001u);
  EXPECT_EQ(preempt_count_of("dNh1"), 0x10001u);
  EXPECT_EQ(preempt_count_of("dNLh1.."), 0x10001u);
  EXPECT_EQ(preempt_count_of("d..H2.."), 0x80010102u);
  EXPECT_EQ(preempt_count_of("d.s3."), 0x80000103u);
  EXPECT_EQ(preempt_count_of("......."), 0x80000000u);
  EXPECT_EQ(preempt_count_of(""), 0u);
}

}  // namespace
}  // namespace overdue
