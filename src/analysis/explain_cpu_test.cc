#include "analysis/explain_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/explain_fixture.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

enum : u64 { tick = 1, entry, crc, caller, schedules, leaves };

class OnCpu : public ::testing::Test {
 protected:
  OnCpu() {
    e.namer.names = {{tick, "sysvec_apic_timer_interrupt"},
                     {entry, "asm_sysvec_apic_timer_interrupt"},
                     {crc, "crc32_le"},
                     {caller, "ext4_chksum"},
                     {schedules, "__schedule"},
                     {leaves, "exit_to_user_mode_loop"}};
  }
  void sample(u32 tid, u64 time_ns, const std::vector<u64>& kernel, bool has_user_side = true) {
    e.fed.add(sample_schema, sample_of(tid, time_ns, kernel, has_user_side));
  }
  static std::vector<std::pair<u64, std::string>> places_of(const CpuPlaces& on_cpu) {
    std::vector<std::pair<u64, std::string>> found;
    for (const CpuPlace& place : on_cpu.places) {
      std::string functions;
      for (const StackFrame& frame : place.stack) functions += frame.name + ";";
      found.emplace_back(place.samples, std::move(functions));
    }
    return found;
  }
  Explainer e;
};

TEST_F(OnCpu, IsWhereItsThreadWasWithinTheSpan) {
  sample(7, 1000, {tick, entry});
  sample(7, 1400, {tick, entry});
  sample(7, 1500, {tick, entry, crc, caller});
  sample(8, 1600, {tick, entry, crc, caller});
  sample(7, 1700, {tick, entry, crc, caller});
  sample(7, 2100, {tick, entry});
  e.fed.add(span_of(7, 1000, 2000));
  EXPECT_EQ(e.finding.on_cpu.samples, 3u);
  EXPECT_THAT(places_of(e.finding.on_cpu),
              ElementsAre(Pair(2u, "crc32_le;ext4_chksum;7;"), Pair(1u, "7;")));
}

TEST_F(OnCpu, HasNothingOfHowItsThreadLeftTheCpu) {
  sample(7, 1100, {schedules, leaves, tick, entry});
  sample(7, 1200, {schedules, leaves});
  sample(7, 1300, {schedules, crc, caller});
  sample(7, 1400, {tick, entry, entry, crc, caller});
  sample(7, 1500, {tick, entry, entry});
  e.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(places_of(e.finding.on_cpu),
              ElementsAre(Pair(3u, "7;"), Pair(2u, "crc32_le;ext4_chksum;7;")));
}

TEST_F(OnCpu, AsksForTheNamesOfASampleOnce) {
  sample(7, 1100, {tick, entry, crc, caller});
  e.fed.add(span_of(7, 1000, 2000));
  e.namer.names.clear();
  e.fed.add(span_of(7, 1050, 2100));
  EXPECT_THAT(places_of(e.finding.on_cpu), ElementsAre(Pair(1u, "crc32_le;ext4_chksum;7;")));
}

TEST_F(OnCpu, KnowsNothingOfAPlaceWithoutFrames) {
  sample(7, 1100, {tick, entry}, false);
  e.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(places_of(e.finding.on_cpu), ElementsAre(Pair(1u, "")));
}

TEST_F(OnCpu, OfAStepIsWhereItsThreadWasMeanwhile) {
  sample(8, 900, {tick, entry});
  sample(8, 1500, {tick, entry, crc, caller});
  e.fed.add(wait_of(7, 1000, 1800, 1900, 8)).add(span_of(7, 1000, 2000));
  ASSERT_EQ(e.finding.chain.size(), 1u);
  EXPECT_THAT(places_of(e.finding.chain[0].on_cpu),
              ElementsAre(Pair(1u, "crc32_le;ext4_chksum;8;")));
  EXPECT_THAT(e.finding.on_cpu.places, IsEmpty());
}

TEST_F(OnCpu, OfWhoHadTheCpuIsOfAllWaitsForIt) {
  for (const u64 out_ns : {1000u, 1500u}) {
    sample(8, out_ns + 100, {tick, entry});
    sched_runs runs{};
    name_thread(runs.header, 7, "thread-7");
    runs.header.kind = RECORD_SCHED_RUNS;
    runs.header.time_ns = out_ns + 400;
    runs.runs[0].ns = out_ns == 1000 ? 350 : 300;
    runs.runs[0].tid = 8;
    e.fed.add(runs).add(wait_of(7, out_ns, 0, out_ns + 400));
    sample(8, out_ns + 450, {tick, entry});
  }
  e.fed.add(span_of(7, 1000, 2000));
  ASSERT_EQ(e.finding.waits.size(), 2u);
  EXPECT_THAT(places_of(e.finding.waits[0].ran.threads.at(0).on_cpu), ElementsAre(Pair(2u, "8;")));
  EXPECT_THAT(e.finding.waits[1].ran.threads.at(0).on_cpu.places, IsEmpty());
}

}  // namespace
}  // namespace overdue
