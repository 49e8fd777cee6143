// Noise and period records made from the text of the kernel's osnoise tracer.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/osnoise_assembler.h"
#include "analysis/timer_cause.h"

namespace overdue {
namespace {

constexpr Schema pause_schema{.id = RECORD_OSNOISE_GAP,
                              .name = "noise",
                              .size = sizeof(osnoise_gap),
                              .fields = {},
                              .help = ""};
constexpr Schema sample_schema{.id = RECORD_OSNOISE_SAMPLE,
                               .name = "noise_sample",
                               .size = sizeof(osnoise_sample),
                               .fields = {},
                               .help = ""};

/// From Linux 6.1 with PREEMPT_RT, in an emulator.
constexpr std::string_view real_lines =
    "       osnoise/0-229     [000] dn.h1..    51.617227: irq_noise: local_timer:236 start "
    "51.617143934 duration 78437 ns\n"
    "          rcuc/0-19      [000] d...3..    51.617305: thread_noise:   rcuc/0:19 start "
    "51.617256262 duration 46125 ns\n"
    "            bash-164     [000] d...3..    51.619153: thread_noise:     bash:164 start "
    "51.617307534 duration 1839730 ns\n"
    "       osnoise/0-229     [000] .......    51.619181: sample_threshold: start 51.609049674 "
    "duration 10127353 ns interference 3\n"
    "       osnoise/0-229     [000] dn.h1..    51.629159: irq_noise: reschedule:253 start "
    "51.629147396 duration 4909 ns\n"
    "       osnoise/0-229     [000] dn.h2..    51.629317: irq_noise: local_timer:236 start "
    "51.629176337 duration 138559 ns\n"
    "     rcu_preempt-17      [000] d...3..    51.629447: thread_noise: rcu_preempt:17 start "
    "51.629366491 duration 77761 ns\n"
    "          rcuc/0-19      [000] d...3..    51.629622: thread_noise:   rcuc/0:19 start "
    "51.629449949 duration 170658 ns\n"
    "     ksoftirqd/0-14      [000] d...3..    51.629645: thread_noise: ksoftirqd/0:14 start "
    "51.629623781 duration 20385 ns\n"
    "       osnoise/0-229     [000] .......    51.629655: sample_threshold: start 51.621096254 "
    "duration 8556034 ns interference 5\n";
constexpr std::string_view period_line =
    "       osnoise/0-229     [000] .......    51.631662: 45000      18683  58.48222   10127      "
    "0 "
    "     0      3      0      5\n";

struct Heard {
  explicit Heard(const OsnoiseAssembler::Options& options = {.cpus = {0}})
      : assembler(pause_schema, sample_schema, options, [this](const Record& record) {
          if (record.schema->id == RECORD_OSNOISE_GAP) {
            pauses.push_back(record.as<osnoise_gap>());
            causes.push_back(take_apart_pause(record));
          } else {
            periods.push_back(record.as<osnoise_sample>());
          }
        }) {}

  std::vector<osnoise_gap> pauses;
  std::vector<TimerCause> causes;
  std::vector<osnoise_sample> periods;
  OsnoiseAssembler assembler;
};

TEST(OsnoiseAssembler, PausesAndTheirPeriod) {
  Heard heard;
  heard.assembler.set_clock_offset(1'000'000'000);
  heard.assembler.feed(real_lines);
  heard.assembler.feed(period_line);
  ASSERT_EQ(heard.pauses.size(), 2u);
  const osnoise_gap& first = heard.pauses[0];
  EXPECT_EQ(first.begin_ns, 52'609'049'674u);
  EXPECT_EQ(first.noise_ns, 10'127'353u);
  EXPECT_EQ(first.header.time_ns, first.begin_ns + first.noise_ns);
  EXPECT_EQ(first.header.cpu, 0u);
  EXPECT_EQ(first.header.tid, 229u);
  EXPECT_EQ(first.interferences, 3u);
  EXPECT_EQ(first.noises, 3u);
  EXPECT_EQ(first.flags, 0u);
  const TimerCause& cause = heard.causes[0];
  ASSERT_EQ(cause.parts.shares().size(), 3u);
  EXPECT_EQ(cause.parts.longest_first()[0].name, "bash");
  EXPECT_EQ(cause.parts.longest_first()[0].ns, 1'839'730u);
  EXPECT_EQ(cause.parts.longest_first()[1].name, "local_timer");
  EXPECT_EQ(cause.parts.longest_first()[1].ns, 78'437u);
  EXPECT_EQ(cause.parts.unexplained_ns, 10'127'353u - 1'839'730 - 78'437 - 46'125);
  EXPECT_EQ(heard.pauses[1].interferences, 5u);
  EXPECT_EQ(heard.pauses[1].noises, 5u);

  ASSERT_EQ(heard.periods.size(), 1u);
  const osnoise_sample& period = heard.periods[0];
  EXPECT_EQ(period.runtime_ns, 45'000'000u);
  EXPECT_EQ(period.noise_ns, 10'127'353u + 8'556'034);  // the sum of both noises
  EXPECT_EQ(period.max_ns, 10'127'353u);
  EXPECT_EQ(period.irq, 3u);
  EXPECT_EQ(period.thread, 5u);
  EXPECT_EQ(heard.assembler.unread(), 0u);
}

TEST(OsnoiseAssembler, CutAnywhereItIsTheSame) {
  Heard heard;
  const std::string all = std::string(real_lines) + std::string(period_line);
  for (const char c : all) heard.assembler.feed({&c, 1});
  EXPECT_EQ(heard.pauses.size(), 2u);
  EXPECT_EQ(heard.periods.size(), 1u);
}

/// An interrupt within a thread, and an NMI within the interrupt. Durations are net, so the gross
/// ends are later.
TEST(OsnoiseAssembler, NoiseWithinNoise) {
  Heard heard;
  heard.assembler.feed(
      " x-9 [000] d.... 1.000300: nmi_noise: start 1.000250000 duration 10000 ns\n"
      " x-9 [000] d.... 1.000300: irq_noise: eth0:31 start 1.000200000 duration 90000 ns\n"
      " x-9 [000] d.... 1.000600: thread_noise: x:9 start 1.000100000 duration 400000 ns\n"
      " osnoise/0-5 [000] .... 1.000700: sample_threshold: start 1.000000000 duration 650000 ns "
      "interference 3\n");
  ASSERT_EQ(heard.causes.size(), 1u);
  const TimerCause& cause = heard.causes[0];
  ASSERT_EQ(cause.parts.shares().size(), 3u);
  EXPECT_EQ(cause.parts.longest_first()[0].name, "x");
  EXPECT_EQ(cause.parts.longest_first()[0].ns, 400'000u);
  EXPECT_EQ(cause.parts.longest_first()[1].name, "eth0");
  EXPECT_EQ(cause.parts.longest_first()[1].ns, 90'000u);
  EXPECT_EQ(cause.parts.longest_first()[2].ns, 10'000u);
  EXPECT_EQ(cause.parts.unexplained_ns, 150'000u);
}

/// From Linux 6.1: the interrupt came while the tracer wrote the line of the previous noise.
TEST(OsnoiseAssembler, NoiseBeforeTheLineOfThePauseBefore) {
  Heard heard;
  heard.assembler.feed(
      "       osnoise/0-180     [000] d..h3..    23.253914: irq_noise: local_timer:236 start "
      "23.253861527 duration 47018 ns\n"
      "       osnoise/0-180     [000] .......    23.253929: sample_threshold: start 23.250155298 "
      "duration 143378 ns interference 0\n"
      "       osnoise/0-180     [000] .......    23.253934: sample_threshold: start 23.250298676 "
      "duration 3634303 ns interference 1\n");
  ASSERT_EQ(heard.pauses.size(), 2u);
  EXPECT_EQ(heard.pauses[0].noises, 0u);
  EXPECT_EQ(heard.pauses[1].noises, 1u);
  EXPECT_EQ(heard.pauses[1].flags, 0u);
  EXPECT_EQ(heard.assembler.unmatched(), 0u);
}

TEST(OsnoiseAssembler, NoiseOfPausesBelowTheThresholdIsNotTheNextOnes) {
  Heard heard;
  heard.assembler.feed(
      " osnoise/0-5 [000] d.h. 0.900300: irq_noise: eth0:31 start 0.900200000 duration 900 ns\n"
      " osnoise/0-5 [000] .... 1.000700: sample_threshold: start 1.000000000 duration 650000 ns "
      "interference 0\n");
  ASSERT_EQ(heard.pauses.size(), 1u);
  EXPECT_EQ(heard.pauses[0].noises, 0u);
  EXPECT_EQ(heard.causes[0].parts.unexplained_ns, 650'000u);
}

TEST(OsnoiseAssembler, WhatIsLostIsCountedAndNotMadeUp) {
  Heard heard;
  const std::size_t second_line = real_lines.find('\n') + 1;
  heard.assembler.feed(real_lines.substr(0, second_line));
  heard.assembler.feed("CPU:0 [LOST 1 EVENTS]\n");
  heard.assembler.feed(real_lines.substr(real_lines.find('\n', second_line) + 1));
  heard.assembler.feed(
      "       osnoise/0-229     [000] .......    51.631662: 45000      20005  55.54444   12000     "
      " "
      "0      0      3      0      5\n");
  EXPECT_EQ(heard.assembler.lost(), 1u);
  ASSERT_EQ(heard.pauses.size(), 2u);
  EXPECT_EQ(heard.pauses[0].flags, u32{OSNOISE_CUT});
  EXPECT_EQ(heard.pauses[0].noises, 1u);
  EXPECT_EQ(heard.assembler.unmatched(), 2u);
  ASSERT_EQ(heard.periods.size(), 1u);
  EXPECT_EQ(heard.periods[0].noise_ns, 20'005'000u);  // the kernel's figure: events were lost
  EXPECT_EQ(heard.periods[0].max_ns, 12'000'000u);
}

TEST(OsnoiseAssembler, StopsAtWhatIsLonger) {
  Heard single({.cpus = {0}, .stop_single_us = 10'127});
  single.assembler.feed(real_lines);
  EXPECT_TRUE(single.assembler.stopped());
  EXPECT_EQ(single.pauses[0].flags, u32{OSNOISE_STOPPED});
  EXPECT_EQ(single.pauses[1].flags, 0u);
  Heard never({.cpus = {0}, .stop_single_us = 10'128, .stop_total_us = 18'683});
  never.assembler.feed(real_lines);
  never.assembler.feed(period_line);
  EXPECT_FALSE(never.assembler.stopped());
  Heard total({.cpus = {0}, .stop_total_us = 18'682});
  total.assembler.feed(real_lines);
  total.assembler.feed(period_line);
  EXPECT_TRUE(total.assembler.stopped());
  EXPECT_EQ(total.periods[0].flags, u32{OSNOISE_STOPPED});
}

TEST(OsnoiseAssembler, TheFirstPeriodMayBeNoneOfOurs) {
  Heard heard({.cpus = {0}, .stop_single_us = 1, .skip_first = true});
  heard.assembler.feed(real_lines);
  heard.assembler.feed(period_line);
  EXPECT_TRUE(heard.pauses.empty() && heard.periods.empty());
  EXPECT_FALSE(heard.assembler.stopped());
  heard.assembler.feed(real_lines);
  heard.assembler.feed(period_line);
  EXPECT_EQ(heard.pauses.size(), 2u);
  ASSERT_EQ(heard.periods.size(), 1u);
  EXPECT_EQ(heard.periods[0].noise_ns, 10'127'353u + 8'556'034);
}

TEST(OsnoiseAssembler, MarksAndOtherCpus) {
  Heard heard({.cpus = {1}});
  std::uint64_t mark = 0, at_ns = 0;
  heard.assembler.on_mark([&](std::uint64_t id, std::uint64_t time_ns) {
    mark = id;
    at_ns = time_ns;
  });
  heard.assembler.feed(real_lines);
  heard.assembler.feed(" overdue-3 [000] .... 7.000001: tracing_mark_write: overdue-mark 42\n");
  EXPECT_TRUE(heard.pauses.empty());
  EXPECT_EQ(mark, 42u);
  EXPECT_EQ(at_ns, 7'000'001'000u);
  EXPECT_EQ(heard.assembler.unread(), 0u);
}

/// Garbled lines, an overlong line, and more interferences than a record has room for.
TEST(OsnoiseAssembler, IsBoundedWhateverItIsGiven) {
  Heard heard({.cpus = {0}, .stop_total_us = 1});
  heard.assembler.feed("# tracer: osnoise\n#\n\n");
  EXPECT_EQ(heard.assembler.unread(), 0u);
  heard.assembler.feed(" evil\nosnoise/0-1 [000] .... 1.000000: 45000 \n");
  EXPECT_EQ(heard.assembler.unread(), 2u);
  heard.assembler.feed(std::string(1 << 20, 'x') + "\n");
  EXPECT_EQ(heard.assembler.unread(), 3u);
  for (int i = 0; i < 2000; ++i)
    heard.assembler.feed(fmt::format(
        " x-9 [000] d.... 2.{0:06}: irq_noise: eth0:31 start 2.{0:06}000 duration 900 ns\n", i));
  heard.assembler.feed(
      " osnoise/0-5 [000] .... 2.100000: sample_threshold: start 2.000000000 duration 50000000 ns "
      "interference 2000\n");
  ASSERT_EQ(heard.pauses.size(), 1u);
  EXPECT_EQ(heard.pauses[0].noises, u32{OSNOISE_NOISES_MAX});
  EXPECT_EQ(heard.pauses[0].flags, u32{OSNOISE_CUT});

  std::mt19937 random(7);
  const std::string lines = std::string(real_lines) + std::string(period_line);
  for (int i = 0; i < 2000; ++i) {
    std::string garbled = lines;
    for (int j = 0; j < 20; ++j)
      garbled[random() % garbled.size()] = static_cast<char>(random() % 256);
    heard.assembler.feed(garbled);
  }
  for (const osnoise_gap& pause : heard.pauses) EXPECT_LE(pause.noises, u32{OSNOISE_NOISES_MAX});
}

}  // namespace
}  // namespace overdue
