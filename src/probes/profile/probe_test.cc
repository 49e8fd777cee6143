// Samples are of the target's threads, while they run, and each is counted once.
#include "probes/profile/probe.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kernel/child_fixture.h"
#include "kernel/session.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

/// Uses CPU time for ever, in the program alone.
void burn(Child&) {
  std::atomic<unsigned> sum = 0;
  while (true) sum.fetch_add(1, std::memory_order_relaxed);
}

class ProfileProbeTest : public KernelTest {
 protected:
  void measure(const MembershipRules& rules, const ProfileOptions& options) {
    session_ = std::make_unique<Session>(rules, std::size_t{4} << 20);
    session_->add(std::make_unique<ProfileProbe>(options, session_->membership().maps()));
  }
  static MembershipRules only(const Child& child) {
    MembershipRules rules;
    rules.pids = {static_cast<std::uint32_t>(child.pid())};
    return rules;
  }
  void run(Duration length) {
    session_->arm();
    for (const KernelTime end = KernelClock::now() + length; KernelClock::now() < end;) {
      std::this_thread::sleep_for(10ms);
      session_->poll(handler());
    }
    session_->finish(handler());
  }
  RecordHandler handler() {
    return [this](const Record& record) {
      if (record.schema->id == RECORD_PROFILE_SAMPLE)
        samples_.push_back(record.as<profile_sample>());
      else if (record.schema->id == RECORD_PROFILE_CPU)
        cpus_.push_back(record.as<profile_cpu>());
      sizes_match_ &= record.header().size == record.bytes.size();
    };
  }
  u64 counted() const {
    u64 sum = 0;
    for (const profile_cpu& cpu : cpus_) sum += cpu.samples;
    return sum;
  }

  std::unique_ptr<Session> session_;
  std::vector<profile_sample> samples_;
  std::vector<profile_cpu> cpus_;
  bool sizes_match_ = true;
};

TEST_F(ProfileProbeTest, SamplesTheTargetWithItsUserStackAndNoOtherThread) {
  Child bystander(burn, "bystander"), child(burn, "burner");
  measure(only(child), {.rate_hz = 499});
  bystander.go();
  child.go();
  run(1s);
  EXPECT_GT(samples_.size(), 20u);  // beside other tests, too
  EXPECT_LT(samples_.size(), 499u * 3);
  u64 with_user_stack = 0, in_program = 0;
  for (const profile_sample& sample : samples_) {
    EXPECT_EQ(sample.header.pid, static_cast<u32>(child.pid()));
    EXPECT_STREQ(sample.process, "burner");
    with_user_stack += (sample.flags & SPAN_HAS_USER_STACK) != 0 && sample.user_bytes > 128;
    in_program += sample.kernel_frames == 0;
  }
  EXPECT_EQ(with_user_stack, samples_.size());
  EXPECT_GT(in_program, samples_.size() / 2);
  EXPECT_TRUE(sizes_match_);
  EXPECT_EQ(counted(), samples_.size() + session_->receipt().lost_by["ring_full"]);
  for (const profile_cpu& cpu : cpus_) {
    EXPECT_EQ(cpu.rate_hz, 499u);
    EXPECT_EQ(cpu.event, u32{PROFILE_CPU_CLOCK});
  }
}

TEST_F(ProfileProbeTest, CountsEverySampleOfTheMachineButNeverItself) {
  MembershipRules rules;
  rules.all = true;
  measure(rules, {.rate_hz = 499, .user_stack_bytes = 0});
  std::jthread own([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
    }
  });
  run(500ms);
  u64 others = 0;
  for (const profile_cpu& cpu : cpus_) others += cpu.others;
  EXPECT_GT(others, 0u);  // this process
  for (const profile_sample& sample : samples_) {
    EXPECT_NE(sample.header.pid, static_cast<u32>(getpid()));
    EXPECT_NE(sample.header.tid, 0u);
    EXPECT_EQ(sample.user_bytes, 0u);
  }
}

TEST_F(ProfileProbeTest, SamplesChosenCpusOnly) {
  Child child(burn, "burner");
  measure(only(child), {.cpus = {0}});
  child.go();
  run(300ms);
  ASSERT_EQ(cpus_.size(), 1u);
  EXPECT_EQ(cpus_[0].header.cpu, 0u);
  for (const profile_sample& sample : samples_) EXPECT_EQ(sample.header.cpu, 0u);
}

TEST_F(ProfileProbeTest, TakesNoSampleBeforeItIsArmed) {
  Child child(burn, "burner");
  measure(only(child), {.rate_hz = 999});
  child.go();
  std::this_thread::sleep_for(100ms);
  session_->poll(handler());
  session_->finish(handler());
  EXPECT_TRUE(samples_.empty());
  EXPECT_EQ(counted(), 0u);
}

TEST_F(ProfileProbeTest, RefusesARateThatTheKernelForbids) {
  try {
    measure({}, {.rate_hz = 2'000'000'000});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("cannot sample CPU"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace overdue
