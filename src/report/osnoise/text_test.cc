#include "report/osnoise/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "probes/osnoise/probe.h"
#include "report/timerlat/text.h"

namespace overdue::osnoise_text_test {
namespace {

using testing::HasSubstr;

timerlat_noise noise_of(u32 kind, u32 number, const char* name, s16 detail, u64 begin, u64 end) {
  timerlat_noise noise{};
  noise.begin_ns = begin;
  noise.end_ns = end;
  noise.number = number;
  noise.kind = static_cast<u16>(kind);
  noise.detail = detail;
  std::strncpy(noise.name, name, COMM_SIZE - 1);
  return noise;
}

/// A noise of CPU 8, as a record.
class Pause {
 public:
  Pause(u64 begin_ns, u64 noise_ns, std::vector<timerlat_noise> noises, u32 flags = 0) {
    gap.header.time_ns = begin_ns + noise_ns;
    gap.header.tid = 961;
    gap.header.cpu = 8;
    gap.header.kind = RECORD_OSNOISE_GAP;
    std::strncpy(gap.header.comm, "osnoise/8", COMM_SIZE - 1);
    gap.begin_ns = begin_ns;
    gap.noise_ns = noise_ns;
    gap.interferences = gap.noises = static_cast<u32>(noises.size());
    gap.flags = flags;
    bytes_.resize(sizeof gap + noises.size() * sizeof(timerlat_noise));
    std::memcpy(bytes_.data(), &gap, sizeof gap);
    if (!noises.empty())
      std::memcpy(bytes_.data() + sizeof gap, noises.data(),
                  noises.size() * sizeof(timerlat_noise));
  }
  TimerCause cause() const { return take_apart_pause({&osnoise_gap_schema, bytes_}); }

  osnoise_gap gap{};

 private:
  std::vector<std::byte> bytes_;
};

/// The example of Documentation/trace/osnoise-tracer.rst.
Pause example() {
  constexpr u64 at = 5789'858'404'555;
  return {at,
          8812,
          {noise_of(NOISE_VECTOR, 236, "", VECTOR_LOCAL_TIMER, at + 316, at + 316 + 2848),
           noise_of(NOISE_THREAD, 54, "migration/8", 0, at + 4745, at + 4745 + 3068)}};
}

TEST(OsnoiseTrace, LinesAreThoseOfTheKernel) {
  OsnoiseTrace trace;
  const Pause pause = example();
  trace.add(pause.gap, pause.cause());
  EXPECT_EQ(trace.take(0), "");
  EXPECT_EQ(trace.take(UINT64_MAX),
            "     osnoise/8-961     [008] ....  5789.858407: irq_noise: local_timer:236 start "
            "5789.858404871 duration 2848 ns\n"
            "   migration/8-54      [008] ....  5789.858412: thread_noise: migration/8:54 start "
            "5789.858409300 duration 3068 ns\n"
            "     osnoise/8-961     [008] ....  5789.858413: sample_threshold: start "
            "5789.858404555 duration 8812 ns interference 2\n");
  EXPECT_EQ(trace.take(UINT64_MAX), "");
}

TEST(OsnoiseTrace, PeriodsAreThoseOfTheKernel) {
  OsnoiseTrace trace;
  osnoise_sample sample{};
  sample.header.time_ns = 81'637'220'000;
  sample.header.tid = 859;
  std::strncpy(sample.header.comm, "<...>", COMM_SIZE - 1);
  sample.runtime_ns = 1'000'000'000;
  sample.noise_ns = 190'000;
  sample.max_ns = 9000;
  sample.hw = 18;
  sample.irq = 1007;
  sample.softirq = 18;
  sample.thread = 1;
  trace.add(sample);
  EXPECT_EQ(trace.take(UINT64_MAX),
            "         <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9 "
            "    18      0   1007     18      1\n");
}

/// Each nanosecond is in one part, or in the residual.
TEST(OsnoiseFigures, PartsAddUp) {
  OsnoiseCpu cpu{.cpu = 8};
  const OsnoisePlan plan{.histogram = true, .bucket_ns = 1000, .buckets = 4};
  u64 noise_ns = 0;
  for (const Pause& pause :
       {example(), Pause(1000, 1500, {}), Pause(9000, 2'000'000, {}, OSNOISE_UNSEEN),
        Pause(5000, 3000,
              {noise_of(NOISE_SOFTIRQ, 3, "", 0, 5100, 7100),
               noise_of(NOISE_IRQ, 27, "virtio1", 0, 6000, 6500)})}) {
    cpu.open.add(pause.gap, pause.cause(), plan);
    noise_ns += pause.gap.noise_ns;
  }
  EXPECT_EQ(cpu.tally.parts_ns(), 0u);  // the period has not ended
  osnoise_sample sample{};
  sample.runtime_ns = 100'000'000;
  sample.noise_ns = noise_ns;
  sample.max_ns = 2'000'000;
  sample.hw = 1;
  cpu.add(sample);
  EXPECT_EQ(cpu.tally.parts_ns() + cpu.residual_ns(), noise_ns);
  EXPECT_EQ(cpu.residual_ns(), 8812u - 2848 - 3068 + 3000 - 2000);
  std::string reported;
  for (const Share& part : cpu.tally.parts(Whose::thread))
    reported += fmt::format("{} {}:{} {} {}\n", noise_kind_name(part.kind), part.name, part.number,
                            part.count, part.ns);
  EXPECT_EQ(reported,
            "thread :0 1 2000000\n"
            "thread migration/8:54 1 3068\n"
            "irq local_timer:236 1 2848\n"
            "softirq NET_RX:3 1 1500\n"
            "hardware :0 1 1500\n"
            "irq virtio1:27 1 500\n");
  EXPECT_EQ(available_text(cpu.available()), "97.98668");
  EXPECT_EQ(cpu.tally.histogram().count_in(1), 1u);
  EXPECT_EQ(cpu.tally.histogram().count_in(3), 1u);
  EXPECT_EQ(cpu.tally.histogram().count_in(4), 2u);  // over
}

TEST(OsnoiseTable, HasALineForEachCpu) {
  OsnoiseCpu busy{.cpu = 0};
  osnoise_sample sample{};
  sample.runtime_ns = 900'000'000;
  sample.noise_ns = 617'400;
  sample.max_ns = 100'300;
  sample.hw = 10;
  sample.irq = 900;
  sample.softirq = 60;
  sample.thread = 15;
  busy.add(sample);
  busy.add(sample);
  const std::vector<OsnoiseCpu> cpus{busy, OsnoiseCpu{.cpu = 11}};
  EXPECT_EQ(osnoise_table(cpus, {}, std::chrono::seconds(2)),
            R"(2.00s | times in us
CPU  PERIODS      RUNTIME        NOISE %CPU AVAIL    MAX NOISE   MAX SINGLE       HW      NMI      IRQ  SOFTIRQ   THREAD
0          2      1800000       1234.8   99.93140        617.4        100.3       20        0     1800      120       30
11         0            0          0.0          -          0.0          0.0        0        0        0        0        0
)");
}

TEST(OsnoiseStopText, SaysWhatItWas) {
  const Pause pause = example();
  NoiseTally tally;
  tally.add(pause.gap, pause.cause(), OsnoisePlan{});
  const std::string text = osnoise_stop({.cpu = 8,
                                         .limit_ns = 8000,
                                         .noise_ns = 8812,
                                         .parts = tally.parts(Whose::thread),
                                         .residual_ns = 8812 - tally.parts_ns()},
                                        Whose::thread);
  EXPECT_THAT(
      text, HasSubstr("CPU 8 stopped the run: a single noise of 8.81us, and the limit is 8.00us"));
  EXPECT_THAT(text, HasSubstr("thread    migration/8:54"));
  EXPECT_THAT(text, HasSubstr("residual  entry, exit, switches"));
}

TEST(LiveTables, HaveAFormForEightyColumns) {
  std::vector<TimerCpu> timers(1);
  std::vector<OsnoiseCpu> noisy(1);
  const auto width = [](const std::string& text) {
    std::size_t most = 0;
    for (const std::string_view line : split(text, '\n')) most = std::max(most, line.size());
    return most;
  };
  EXPECT_EQ(width(timerlat_table(timers, {})), timerlat_table_width);
  EXPECT_LE(width(timerlat_table(timers, {}, TableWidth::narrow)), 80u);
  EXPECT_EQ(width(osnoise_table(noisy, {}, {})), osnoise_table_width);
  EXPECT_LE(width(osnoise_table(noisy, {}, {}, TableWidth::narrow)), 80u);
}

TEST(OsnoiseParts, ByNameThreadsAddUpAndNothingIsLost) {
  Breakdown noise;
  noise.count(ShareKind::irq, 4, "disk", 50);
  noise.count(ShareKind::thread, 0, "", 5);
  for (u32 tid = 1; tid <= 300; ++tid) {
    noise.count(ShareKind::thread, tid, "sh", tid - 1);
    noise.count(ShareKind::thread, tid, "sh", 1);
  }
  const std::vector<Share> parts = noise.longest_first();
  const std::vector<Share> named = parts_by(parts, Whose::name);
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[0].name, "sh");
  EXPECT_EQ(named[0].threads, 300u);
  EXPECT_EQ(named[0].count, 600u);
  EXPECT_EQ(named[0].ns, 300u * 301 / 2);
  EXPECT_EQ(named[0].max_ns, 299u);
  EXPECT_EQ(named[1].name, "disk");
  EXPECT_EQ(named[2].ns, 5u);
  EXPECT_EQ(parts_by(parts, Whose::thread).size(), parts.size());
}

/// An origin of thread `tid`, a process of its own.
noise_origin origin_of(u32 tid, const char* process, u32 parent_pid, const char* parent) {
  noise_origin origin{};
  origin.tid = origin.pid = tid;
  origin.cgroup_id = 77;
  origin.origin.is_known = 1;
  origin.origin.start_ns = tid;
  origin.origin.parent_pid = parent_pid;
  std::strncpy(origin.origin.process, process, COMM_SIZE - 1);
  std::strncpy(origin.origin.parent, parent, COMM_SIZE - 1);
  return origin;
}

/// A noise of three shells, one of them twice, two threads of the kernel, a thread whose origin is
/// not known, and an interrupt.
struct Storm {
  explicit Storm(Whose by) : plan{.by = by} {
    const Pause pause(1000, 10'000,
                      {noise_of(NOISE_THREAD, 11, "sh", 0, 1000, 2000),
                       noise_of(NOISE_THREAD, 12, "sh", 0, 2000, 4000),
                       noise_of(NOISE_THREAD, 11, "sh", 0, 4000, 4500),
                       noise_of(NOISE_THREAD, 13, "tr", 0, 4500, 5000),
                       noise_of(NOISE_THREAD, 5, "kworker/0:1", 0, 5000, 5100),
                       noise_of(NOISE_THREAD, 6, "ksoftirqd/0", 0, 5100, 5300),
                       noise_of(NOISE_THREAD, 99, "lost", 0, 5300, 5310),
                       noise_of(NOISE_IRQ, 4, "disk", 0, 6000, 6001)});
    NoiseOrigins origins;
    for (const u32 tid : {11u, 12u}) origins[tid] = origin_of(tid, "sh", 4126, "cron");
    origins[13] = origin_of(13, "tr", 4126, "cron");
    for (const u32 tid : {5u, 6u}) {
      origins[tid] = origin_of(tid, "kworker", 2, "kthreadd");
      origins[tid].of_kernel = 1;
    }
    for (NoiseTally* const half : {&one, &other})
      half->add(pause.gap, pause.cause(), plan, origins);
    one.merge(other);
  }
  /// "name ×processes: count, ns" of each part.
  std::vector<std::string> parts() const {
    Names names;
    names.cgroups[77] = "/cron";
    std::vector<std::string> all;
    for (const NoisePart& part : one.parts(plan.by, names))
      all.push_back(fmt::format(
          "{}: {}, {}", part.owner ? owner_text(*part.owner, plan.by, part.processes) : part.name,
          part.count, part.ns));
    return all;
  }

  OsnoisePlan plan;
  NoiseTally one{}, other{};
};

TEST(OsnoiseParts, ByParentAndCgroupProcessesAddUp) {
  EXPECT_THAT(
      Storm(Whose::parent).parts(),
      testing::ElementsAre("sh ×2 from cron[4126]: 6, 7000", "tr from cron[4126]: 2, 1000",
                           "(kernel) ×2: 4, 600", "lost from (unknown): 2, 20", "disk: 2, 2"));
  EXPECT_THAT(
      Storm(Whose::cgroup).parts(),
      testing::ElementsAre("/cron: 8, 8000", "(kernel): 4, 600", "(unknown): 2, 20", "disk: 2, 2"));
  const Storm storm(Whose::parent);
  EXPECT_EQ(storm.one.parts_ns(), 2u * (4000 + 300 + 10 + 1));
  OsnoiseCpu cpu{.noise_ns = 20'000, .tally = storm.one};
  EXPECT_THAT(
      osnoise_parts({&cpu, 1}, 6, Whose::parent, {}),
      HasSubstr("  thread    sh ×2 from cron[4126]                6            7.0          2.0"));
}

TEST(NoiseOrigins, AreBehindTheNoisesOfARecord) {
  osnoise_gap gap{};
  gap.noises = 1;
  gap.origins = 2;
  const noise_origin origins[] = {origin_of(11, "sh", 4126, "cron"), origin_of(12, "sh", 7, "at")};
  std::vector<std::byte> bytes(sizeof gap + sizeof(timerlat_noise) + sizeof origins);
  std::memcpy(bytes.data(), &gap, sizeof gap);
  std::memcpy(bytes.data() + sizeof gap + sizeof(timerlat_noise), origins, sizeof origins);
  const NoiseOrigins found = origins_of({&osnoise_gap_schema, bytes});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at(12).origin.parent_pid, 7u);
  bytes.resize(bytes.size() - 1);  // of a damaged recording
  EXPECT_EQ(origins_of({&osnoise_gap_schema, bytes}).size(), 1u);
  bytes.resize(sizeof gap);
  EXPECT_TRUE(origins_of({&osnoise_gap_schema, bytes}).empty());
}

TEST(OsnoisePlan, OfADamagedRecordingHasRowsByThread) {
  SessionInfo info;
  OsnoisePlan plan{.by = Whose::cgroup, .origins = true};
  info.options = kept_options(plan);
  EXPECT_EQ(kept_osnoise_plan(info).by, Whose::cgroup);
  EXPECT_TRUE(kept_osnoise_plan(info).origins);
  info.options["by"] = std::to_string(static_cast<int>(Whose::group));
  EXPECT_EQ(kept_osnoise_plan(info).by, Whose::thread);
  plan.origins = false;
  EXPECT_THROW(check_origins(plan), Error);
  plan.by = Whose::pattern;
  check_origins(plan);
}

}  // namespace
}  // namespace overdue::osnoise_text_test
