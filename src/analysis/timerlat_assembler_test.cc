// Activation records made from the text of the kernel's timerlat tracer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/timer_cause.h"
#include "analysis/timer_fixture.h"
#include "analysis/timerlat_assembler.h"
#include "base/text.h"

namespace overdue {
namespace {

/// The example of Documentation/trace/timerlat-tracer.rst.
constexpr std::string_view example =
    "             cc1-87882   [005] d..h...   548.771078: #402268 context    irq timer_latency     "
    "13585 ns\n"
    "             cc1-87882   [005] dNLh1..   548.771082: irq_noise: local_timer:236 start "
    "548.771077442 duration 7597 ns\n"
    "             cc1-87882   [005] dNLh2..   548.771099: irq_noise: qxl:21 start 548.771085017 "
    "duration 7139 ns\n"
    "             cc1-87882   [005] d...3..   548.771102: thread_noise:      cc1:87882 start "
    "548.771078243 duration 9909 ns\n"
    "      timerlat/5-1035    [005] .......   548.771104: #402268 context thread timer_latency     "
    "39960 ns\n";
constexpr std::string_view stop =
    "      timerlat/5-1035    [005] ....1..   548.771105: timerlat_main: stop tracing hit on cpu "
    "5\n";

struct Seen {
  explicit Seen(std::vector<std::uint32_t> cpus = {5}, std::uint64_t period_ns = 1'000'000)
      : assembler(activation_schema,
                  {.cpus = std::move(cpus),
                   .period_ns = period_ns,
                   .priority_of = [](std::uint32_t) -> std::int16_t { return 110; }},
                  [this](const Record& record) {
                    activations.push_back(record.as<timerlat_activation>());
                    causes.push_back(take_apart(record));
                  }) {}

  std::vector<timerlat_activation> activations;
  std::vector<TimerCause> causes;
  TimerlatAssembler assembler;
};

std::string activation_lines(unsigned id, double at, unsigned irq_ns, unsigned thread_ns) {
  return fmt::format(
      "          <idle>-0       [000] d.h1. {0:12.6f}: #{1:<5} context    irq timer_latency "
      "{2:9} ns\n"
      "      timerlat/0-867     [000] ..... {0:12.6f}: #{1:<5} context thread timer_latency "
      "{3:9} ns\n",
      at, id, irq_ns, thread_ns);
}

TEST(TimerlatAssembler, TheExampleOfTheDocumentation) {
  Seen seen;
  seen.assembler.feed(example);
  EXPECT_TRUE(seen.activations.empty());  // a stack may follow
  seen.assembler.feed(stop);
  ASSERT_EQ(seen.activations.size(), 1u);
  EXPECT_TRUE(seen.assembler.stopped());
  const timerlat_activation& activation = seen.activations[0];
  EXPECT_EQ(activation.id, 402268u);
  EXPECT_EQ(activation.flags, unsigned{ACTIVATION_STOPPED | ACTIVATION_IN_THREAD});
  // The thread's noise begins at the moment when the handler took the time.
  EXPECT_EQ(activation.irq_ns, 548'771'078'243u);
  EXPECT_EQ(activation.irq_ns - activation.expires_ns, 13585u);
  EXPECT_EQ(activation.header.time_ns - activation.expires_ns, 39960u);
  EXPECT_EQ(activation.header.tid, 1035u);
  EXPECT_EQ(fixed_text(activation.header.comm), "timerlat/5");
  EXPECT_EQ(activation.interrupted_tid, 87882u);
  EXPECT_EQ(fixed_text(activation.interrupted), "cc1");
  EXPECT_EQ(activation.irq_preempt_count, 0x80010000u);

  const TimerCause& cause = seen.causes[0];
  std::uint64_t sum = cause.parts.unexplained_ns;
  for (const Share& part : cause.parts.shares()) sum += part.ns;
  EXPECT_EQ(sum, 39960u);
  ASSERT_EQ(cause.parts.shares().size(), 3u);
  EXPECT_EQ(cause.parts.longest_first()[0].name, "cc1");
  EXPECT_EQ(cause.parts.longest_first()[0].priority, 110);
  // 9909 ns net after the interrupt, and all time before the interrupt.
  EXPECT_EQ(cause.parts.longest_first()[0].ns, 9909u + (13585 - 801) + 22);
  EXPECT_EQ(cause.parts.longest_first()[1].name, "local_timer");
  EXPECT_EQ(cause.parts.longest_first()[1].ns, 7597u);
  EXPECT_EQ(cause.parts.longest_first()[2].name, "qxl");
  EXPECT_EQ(cause.parts.longest_first()[2].ns, 7139u - 22);  // qxl began before the timer's end
}

TEST(TimerlatAssembler, CutAnywhereItIsTheSame) {
  for (std::size_t size = 1; size < 40; ++size) {
    Seen seen;
    const std::string all = std::string(example) + std::string(stop);
    for (std::size_t at = 0; at < all.size(); at += size)
      seen.assembler.feed(std::string_view(all).substr(at, size));
    ASSERT_EQ(seen.causes.size(), 1u) << size;
    EXPECT_EQ(seen.causes[0].parts.shares().size(), 3u) << size;
  }
}

TEST(TimerlatAssembler, StacksAreOfTheActivationBefore) {
  Seen seen;
  seen.assembler.feed(example);
  seen.assembler.feed(
      "      timerlat/5-1035    [005] ....1..   548.771105: <stack trace>\n"
      "=> timerlat_irq <ffffffff811d8b10>\n"
      "=> asm_sysvec_apic_timer_interrupt <ffffffff81c00e00>\n"
      "=> 0xc002800000000 <000c002800000000>\n"  // Linux 6.1 prints memory after the stack
      "=> startup_64 <ffffffff81000000>\n");
  seen.assembler.feed(stop);
  ASSERT_EQ(seen.causes.size(), 1u);
  EXPECT_EQ(seen.causes[0].addresses,
            (std::vector<std::uint64_t>{0xffffffff811d8b10, 0xffffffff81c00e00}));
  // No kernel function is outside the interrupt's entry.
  EXPECT_TRUE(seen.activations[0].flags & ACTIVATION_USER_MODE);
}

/// Linux 6.1 prints nothing when it stops. Noise may come before the stop.
TEST(TimerlatAssembler, StoppedWithoutAWord) {
  Seen seen({0, 5});
  seen.assembler.feed(example);
  seen.assembler.feed(activation_lines(1, 548.771003, 932, 11700));
  seen.assembler.feed(
      "      timerlat/5-1035    [005] ....1..   548.771105: irq_noise: qxl:21 start 548.771104700 "
      "duration 300 ns\n");
  EXPECT_TRUE(seen.activations.empty());
  seen.assembler.stop_at(0, 1'000'000);
  EXPECT_FALSE(seen.assembler.stopped());  // both are below the limit
  seen.assembler.set_end(1);               // the one that stops the run is still delivered
  seen.assembler.stop_at(0, 25'000);
  EXPECT_TRUE(seen.assembler.stopped());
  seen.assembler.set_end(UINT64_MAX);
  ASSERT_EQ(seen.activations.size(), 1u);
  EXPECT_EQ(seen.activations[0].id, 402268u);
  EXPECT_TRUE(seen.activations[0].flags & ACTIVATION_STOPPED);
  EXPECT_EQ(seen.activations[0].noises, 3u);
  EXPECT_EQ(seen.causes[0].parts.longest_first()[0].priority, 110);
  seen.assembler.finish();
  ASSERT_EQ(seen.activations.size(), 2u);
  EXPECT_FALSE(seen.activations[1].flags & ACTIVATION_STOPPED);
}

/// Debian's 6.1.0-56-rt in an emulator, with sym-addr.
constexpr std::string_view of_linux_6_1_rt =
    "     rcu_preempt-17      [000] d..h1..    17.895573: #980   context    irq timer_latency   "
    "9680786 ns\n"
    "     rcu_preempt-17      [000] dn.h2..    17.895626: irq_noise: local_timer:236 start "
    "17.895569082 duration 55307 ns\n"
    "     rcu_preempt-17      [000] d...3..    17.895647: thread_noise: rcu_preempt:17 start "
    "17.895572075 duration 21557 ns\n"
    "          <idle>-0       [001] dn.h2..    17.895687: irq_noise: reschedule:253 start "
    "17.895684670 duration 1049 ns\n"
    "      timerlat/0-167     [000] .......    17.899141: #980   context thread timer_latency  "
    "13247365 ns\n"
    "      timerlat/0-167     [000] ....1..    17.899145: <stack trace>\n"
    " => timerlat_irq <ffffffff811d8577>\n"
    " => asm_sysvec_apic_timer_interrupt <ffffffff81c00f06>\n"
    " => finish_task_switch.isra.0 <ffffffff810e1796>\n"
    " => ret_from_fork <ffffffff8100334f>\n"
    " => 0\n"
    " => 0\n"
    "            bash-165     [000] .......    17.904919: tracing_mark_write <ffffffff811c8b25>: "
    "overdue-mark 3\n";

TEST(TimerlatAssembler, ReadsLinux61WithPreemptRt) {
  Seen seen({0});
  std::uint64_t mark = 0;
  seen.assembler.on_mark([&](std::uint64_t id, std::uint64_t) { mark = id; });
  seen.assembler.feed(of_linux_6_1_rt);
  seen.assembler.finish();
  EXPECT_EQ(mark, 3u);
  ASSERT_EQ(seen.activations.size(), 1u);
  const timerlat_activation& activation = seen.activations[0];
  EXPECT_EQ(activation.irq_ns, 17'895'572'075u);
  EXPECT_EQ(activation.irq_preempt_count, 0x80010001u);
  EXPECT_EQ(fixed_text(activation.interrupted), "rcu_preempt");
  EXPECT_FALSE(activation.flags & ACTIVATION_USER_MODE);
  const TimerCause& cause = seen.causes[0];
  EXPECT_EQ(cause.addresses.size(), 4u);
  ASSERT_EQ(cause.parts.shares().size(), 2u);
  EXPECT_EQ(cause.parts.longest_first()[0].name, "rcu_preempt");
  EXPECT_EQ(cause.parts.longest_first()[0].ns, 9'680'786u - (572'075 - 569'082) + 21'557);
  EXPECT_EQ(cause.parts.longest_first()[1].name, "local_timer");
  EXPECT_EQ(cause.parts.longest_first()[1].ns, 55'307u);
  EXPECT_EQ(cause.parts.longest_first()[0].ns + cause.parts.longest_first()[1].ns +
                cause.parts.unexplained_ns,
            13'247'365u);
}

TEST(TimerlatAssembler, StoppedInTheInterrupt) {
  Seen seen;
  seen.assembler.feed(example.substr(0, example.find('\n') + 1));
  seen.assembler.feed(
      "             cc1-87882   [005] d..h1..   548.771079: timerlat_irq: stop tracing hit on cpu "
      "5\n");
  ASSERT_EQ(seen.activations.size(), 1u);
  EXPECT_EQ(seen.activations[0].flags,
            unsigned{ACTIVATION_STOPPED | ACTIVATION_IN_IRQ | ACTIVATION_UNSEEN});
  EXPECT_EQ(seen.causes[0].latency_ns, 13585u);
  EXPECT_EQ(seen.causes[0].irq_delay_ns, 13585u);
}

std::string user_line(unsigned id, double at, unsigned user_ns) {
  return fmt::format(
      "      timerlat/0-867     [000] ..... {:12.6f}: #{:<5} context user-ret timer_latency {:9} "
      "ns\n",
      at, id, user_ns);
}

TEST(TimerlatAssembler, TheWayBackToTheProgram) {
  Seen seen({0});
  seen.assembler.feed(user_line(4, 99.9995, 900'000));  // begun before the session
  seen.assembler.feed(activation_lines(5, 100.0, 1'000, 5'000));
  seen.assembler.feed(user_line(5, 100.0007, 700'000));
  seen.assembler.feed(activation_lines(6, 100.001, 1'000, 5'000));
  seen.assembler.feed(user_line(5, 100.0015, 500'000));  // wrong activation
  seen.assembler.feed(user_line(6, 100.0015, 500'000));
  seen.assembler.feed(user_line(6, 100.0015, 600'000));  // a second one
  seen.assembler.feed(activation_lines(7, 100.002, 1'000, 5'000));
  seen.assembler.finish();
  ASSERT_EQ(seen.activations.size(), 3u);
  EXPECT_EQ(seen.activations[0].user_ns - seen.activations[0].expires_ns, 700'000u);
  EXPECT_EQ(seen.activations[1].user_ns - seen.activations[1].expires_ns, 500'000u);
  EXPECT_EQ(seen.activations[2].user_ns, 0u);
  EXPECT_EQ(seen.assembler.unmatched(), 2u);
}

TEST(TimerlatAssembler, AProgramsOwnWorkIsAPartOfWhatStopped) {
  std::vector<timerlat_activation> activations;
  TimerCause cause;
  TimerlatAssembler assembler(activation_schema,
                              {.cpus = {0},
                               .priority_of = [](std::uint32_t) -> std::int16_t { return 100; },
                               .name_of = [](std::uint32_t) { return std::string("control"); }},
                              [&](const Record& record) {
                                activations.push_back(record.as<timerlat_activation>());
                                cause = take_apart(record, LatencyEnd::user);
                              });
  assembler.feed(activation_lines(5, 100.0, 1'000, 5'000));
  assembler.feed(
      "              hog-99      [000] d...3..   100.000500: thread_noise:      hog:99 start "
      "100.000200000 duration 300000 ns\n");
  assembler.feed(user_line(5, 100.0009, 901'000));
  assembler.stop_at(0, 900'000);
  ASSERT_EQ(activations.size(), 1u);
  EXPECT_EQ(fixed_text(activations[0].header.comm), "control");
  EXPECT_EQ(activations[0].flags,
            unsigned{ACTIVATION_STOPPED | ACTIVATION_IN_THREAD | ACTIVATION_HAS_PRIORITY});
  EXPECT_EQ(cause.latency_ns, 901'000u);
  ASSERT_EQ(cause.parts.shares().size(), 2u);
  EXPECT_EQ(cause.parts.longest_first()[0].name, "control");
  EXPECT_EQ(cause.parts.longest_first()[0].number, 867u);
  EXPECT_EQ(cause.parts.longest_first()[0].ns, 901'000u - 5'000 - 300'000);
  EXPECT_EQ(cause.parts.longest_first()[1].name, "hog");
  EXPECT_EQ(cause.parts.longest_first()[1].ns, 300'000u);
  EXPECT_EQ(cause.parts.unexplained_ns, 5'000u);
}

TEST(TimerlatAssembler, NestedNoiseEndsWhereItsPartsDo) {
  Seen seen({0});
  // A softirq of 5 us, with an interrupt of 2 us within; then a thread.
  seen.assembler.feed(
      "          <idle>-0       [000] d.h1. 10.000002: #1     context    irq timer_latency 2000 "
      "ns\n"
      "          <idle>-0       [000] d.h1. 10.000004: irq_noise: local_timer:236 start "
      "10.000001000 duration 3000 ns\n"
      "          <idle>-0       [000] d.h1. 10.000008: irq_noise: eth0:30 start 10.000006000 "
      "duration 2000 ns\n"
      "          <idle>-0       [000] ..s1. 10.000012: softirq_noise:   NET_RX:3 start "
      "10.000005000 duration 5000 ns\n"
      "          <idle>-0       [000] d..2. 10.000013: thread_noise: swapper/0:0 start "
      "10.000002000 duration 2000 ns\n"
      "             cat-9       [000] d..2. 10.000018: thread_noise:      cat:9 start "
      "10.000013000 duration 5000 ns\n"
      "      timerlat/0-867     [000] ..... 10.000020: #1     context thread timer_latency 20000 "
      "ns\n");
  seen.assembler.finish();
  ASSERT_EQ(seen.causes.size(), 1u);
  std::vector<std::string> parts;
  for (const Share& part : seen.causes[0].parts.longest_first())
    parts.push_back(fmt::format("{} {}", part.name, part.ns));
  EXPECT_EQ(parts,
            (std::vector<std::string>{"NET_RX 5000", "cat 5000", "local_timer 3000", "eth0 2000"}));
  EXPECT_EQ(seen.causes[0].parts.unexplained_ns, 5000u);  // the idle thread is no noise
  EXPECT_EQ(fixed_text(seen.activations[0].interrupted), "swapper/0");
}

TEST(TimerlatAssembler, TimesAreThoseOfTheClockAskedFor) {
  Seen seen({0});
  seen.assembler.set_clock_offset(-1'000'000'000);
  seen.assembler.feed(activation_lines(1, 54.029328, 932, 11700));
  seen.assembler.finish();
  ASSERT_EQ(seen.activations.size(), 1u);
  EXPECT_EQ(seen.activations[0].irq_ns, 53'029'328'000u);
  EXPECT_EQ(seen.activations[0].header.time_ns, 53'029'328'000u - 932 + 11700);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> marks;
  seen.assembler.on_mark([&](std::uint64_t id, std::uint64_t ns) { marks.emplace_back(id, ns); });
  seen.assembler.feed(" overdue-17 [003] ..... 9.000001: tracing_mark_write: overdue-mark 12\n");
  EXPECT_EQ(marks, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{12, 9'000'001'000}}));
}

TEST(TimerlatAssembler, MissedPeriods) {
  Seen seen({0});
  seen.assembler.set_begin(1'000'000'000);
  seen.assembler.feed(activation_lines(0, 0.990, 900, 2000));  // before the begin
  seen.assembler.feed(activation_lines(1, 1.001, 900, 2000));
  seen.assembler.feed(activation_lines(2, 1.002, 1500, 2000));
  seen.assembler.feed(activation_lines(3, 1.007, 900, 2000));
  seen.assembler.feed(activation_lines(9, 1.020, 900, 2000));  // after lost ones: unknown
  seen.assembler.set_end(1'021'000'000);
  seen.assembler.feed(activation_lines(10, 1.030, 900, 2000));  // after the end
  seen.assembler.finish();
  EXPECT_EQ(seen.activations.size(), 4u);
  EXPECT_EQ(seen.assembler.missed(0), 4u);
  EXPECT_EQ(seen.assembler.missed(1), 0u);
}

TEST(TimerlatAssembler, CountsMissedPeriodsOnTheMonotonicClock) {
  Seen seen({0});
  seen.assembler.feed(activation_lines(1, 1.001, 900, 2000));
  seen.assembler.feed(activation_lines(2, 1.002, 900, 2000));
  seen.assembler.set_clock_offset(2'000'000);  // the trace's clock has lost 2 ms
  seen.assembler.feed(activation_lines(3, 1.003, 900, 2000));
  seen.assembler.finish();
  ASSERT_EQ(seen.activations.size(), 3u);
  EXPECT_EQ(seen.assembler.missed(0), 2u);
}

TEST(TimerlatAssembler, LossAndHalvesAreCounted) {
  Seen seen({0});
  const std::string one = activation_lines(1, 1.001, 900, 2000);
  const std::size_t half = one.find('\n') + 1;
  seen.assembler.feed(one.substr(half));     // the first half came before the session
  seen.assembler.feed(one.substr(0, half));  // the second half is lost
  seen.assembler.feed("CPU:0 [LOST 17 EVENTS]\n");
  seen.assembler.feed(activation_lines(5, 1.005, 900, 2000));
  seen.assembler.feed(one.substr(0, half));  // the second half comes after the session
  seen.assembler.finish();
  EXPECT_EQ(seen.activations.size(), 1u);
  EXPECT_EQ(seen.assembler.lost(), 17u);
  EXPECT_EQ(seen.assembler.unmatched(), 2u);
  EXPECT_EQ(seen.assembler.cut(), 1u);
}

TEST(TimerlatAssembler, OnlyTheCpusAskedFor) {
  Seen seen({1});
  seen.assembler.feed(activation_lines(1, 1.001, 900, 2000));
  seen.assembler.finish();
  EXPECT_TRUE(seen.activations.empty());
}

TEST(TimerlatAssembler, HostileInputIsBounded) {
  Seen seen({0});
  seen.assembler.feed(std::string(1 << 20, 'x'));
  seen.assembler.feed("\n" + std::string(1 << 16, '\n') + std::string(1 << 16, '\0') + "\n");
  const std::string one = activation_lines(1, 1.001, 900, 300'000'000);
  seen.assembler.feed(one.substr(0, one.find('\n') + 1));
  for (int i = 0; i < 1000; ++i)
    seen.assembler.feed(
        fmt::format(" a-1 [000] d.... 1.000000: irq_noise: x:{} start 1.{:09} duration 1000 ns\n",
                    i, i * 100'000));
  seen.assembler.feed(
      " a-1 [000] d.... 1.000000: nmi_noise: start 0.000000001 duration "
      "9223372036854775807 ns\n");
  seen.assembler.feed(one.substr(one.find('\n') + 1));
  seen.assembler.feed(
      " timerlat/0-867 [000] ..... 1.3: <stack trace>\n"
      " timerlat/0-867 [000] ..... 1.300000: <stack trace>\n");
  for (int i = 0; i < 1000; ++i) seen.assembler.feed("=> f <ffffffff81000000>\n");
  seen.assembler.finish();
  ASSERT_EQ(seen.activations.size(), 1u);
  EXPECT_TRUE(seen.activations[0].flags & ACTIVATION_CUT);
  EXPECT_EQ(seen.assembler.unmatched(), 1u);
  EXPECT_EQ(seen.activations[0].noises, TIMERLAT_NOISES_MAX);
  EXPECT_EQ(seen.activations[0].kernel_frames, 256u);
  std::uint64_t sum = seen.causes[0].parts.unexplained_ns;
  for (const Share& part : seen.causes[0].parts.shares()) sum += part.ns;
  EXPECT_EQ(sum, seen.causes[0].latency_ns);
}

}  // namespace
}  // namespace overdue
