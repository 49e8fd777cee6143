// Lines of the kernel's osnoise tracer, and damaged lines.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "analysis/osnoise_lines.h"
#include "analysis/timerlat_lines.h"
#include "base/text.h"

namespace overdue {
namespace {

using OsnoiseKind = OsnoiseEvent::Kind;

std::optional<OsnoiseEvent> osnoise_event_of(std::string_view line) {
  const auto parsed = parse_trace_line(line);
  return parsed ? parse_osnoise_event(parsed->text) : std::nullopt;
}

/// The event of a line that has one.
OsnoiseEvent osnoise_event_in(std::string_view line) {
  const auto event = osnoise_event_of(line);
  EXPECT_TRUE(event) << line;
  return event.value_or(OsnoiseEvent{});
}

TEST(OsnoiseLines, OfAPeriod) {
  for (const std::string_view line :
       {// Linux 6.1 with PREEMPT_RT; Documentation/trace/osnoise-tracer.rst
        "       osnoise/0-229     [000] .......    51.631662: 45000      35285  21.58888   16523 "
        "     1      0      7      2     10",
        "           <...>-859     [000] ....    81.637220: 45000       35285  21.58888      16523"
        "     1      0      7      2     10"}) {
    const OsnoiseEvent event = osnoise_event_in(line);
    EXPECT_EQ(event.kind, OsnoiseKind::period);
    const OsnoiseEvent::Period& period = event.period;
    EXPECT_EQ(period.runtime_us, 45000u);
    EXPECT_EQ(period.noise_us, 35285u);
    EXPECT_EQ(period.max_us, 16523u);
    EXPECT_EQ(period.hw, 1u);
    EXPECT_EQ(period.nmi, 0u);
    EXPECT_EQ(period.irq, 7u);
    EXPECT_EQ(period.softirq, 2u);
    EXPECT_EQ(period.thread, 10u);
  }
}

TEST(OsnoiseLines, OfAPauseAndOfNoise) {
  const OsnoiseEvent pause = osnoise_event_in(
      "       osnoise/0-229     [000] .......    51.605635: sample_threshold: start 51.589040281 "
      "duration 16523372 ns interference 9");
  EXPECT_EQ(pause.kind, OsnoiseKind::pause);
  EXPECT_EQ(pause.begin_ns, 51'589'040'281u);
  EXPECT_EQ(pause.pause_ns, 16'523'372u);
  EXPECT_EQ(pause.interferences, 9u);

  const OsnoiseEvent noise = osnoise_event_in(
      "          rcuc/0-19      [000] d...3..    51.593707: thread_noise:   rcuc/0:19 start "
      "51.593569824 duration 88778 ns");
  EXPECT_EQ(noise.kind, OsnoiseKind::noise);
  EXPECT_EQ(noise.noise.kind, NOISE_THREAD);
  EXPECT_EQ(noise.noise.number, 19u);
  EXPECT_EQ(fixed_text(noise.noise.name), "rcuc/0");
  EXPECT_EQ(noise.noise.begin_ns, 51'593'569'824u);

  const OsnoiseEvent stopped = osnoise_event_in(
      "       osnoise/1-250     [001] .......    59.757413: run_osnoise: stop tracing hit on cpu "
      "1");
  EXPECT_EQ(stopped.kind, OsnoiseKind::stop);
}

TEST(OsnoiseLines, CutAnywhereOrGarbledSayNothing) {
  for (const std::string_view text :
       {"45000      35285  21.58888   16523      1      0      7      2     10",
        "sample_threshold: start 51.589040281 duration 16523372 ns interference 9"})
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto cut = parse_osnoise_event(text.substr(0, size));
      // A cut within the last number is undetectable.
      if (cut) {
        EXPECT_EQ(text.substr(size).find(' '), text.npos) << text.substr(0, size);
      }
    }
  for (const std::string_view text :
       {"", " ", "45000", "45000 1 1 1 1 1 1 1 1", "45000 35285 21.58888 16523 1 0 7 2 10 11",
        "45000 35285 21.58888 16523 1 0 7 2 -1", "45000 35285 21.58888 16523 1 0 7 2 4294967296",
        "99999999999999999999 35285 21.58888 16523 1 0 7 2 1",
        "18446744073709551615 35285 21.58888 16523 1 0 7 2 1",
        "45000 18446744073709551615 21.58888 16523 1 0 7 2 1", "4500035285 21.58888 1 1 1 1 1 1",
        "sample_threshold: start 51.589040281 duration -5 ns interference 9",
        "sample_threshold: start 51.589040281 duration 18446744073709551615 ns interference 9",
        "sample_threshold: start 51.5890402 duration 5 ns interference 9",
        "sample_threshold: start 51.589040281 duration 5 ns interference 9 x",
        "#1 context irq timer_latency 932 ns", "<stack trace>", "unknown_event: x=1"})
    EXPECT_FALSE(parse_osnoise_event(text)) << text;
}

}  // namespace
}  // namespace overdue
