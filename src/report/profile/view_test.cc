#include "report/profile/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "probes/profile/probe.h"

namespace overdue::profile_view_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Names kernel addresses `k1`, `k2`, …; user stacks by the length of their copy.
class Namer final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const std::uint64_t address : addresses)
      stack.push_back({.address = address,
                       .name = "k" + std::to_string(address),
                       .module = "[kernel]",
                       .is_kernel = true});
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers& registers, const UserCopy& copy,
                       KernelTime) override {
    return {.frames = {{.name = "copy_of_" + std::to_string(copy.stack.size()), .module = "/bin/x"},
                       {.name = "rip_" + std::to_string(registers.rip), .module = "/bin/x"}},
            .end = {}};
  }
};

struct Sample {
  std::vector<u64> kernel = {};
  u16 flags = 0;
  u64 rip = 0;
  std::size_t copy = 0;
  u16 kernel_frames = 0;  ///< if not 0, instead of the true number
  u16 user_bytes = 0;     ///< likewise

  std::vector<std::byte> bytes() const {
    profile_sample fixed{};
    fixed.header.kind = RECORD_PROFILE_SAMPLE;
    fixed.header.pid = 10;
    fixed.header.tid = 11;
    std::memcpy(fixed.header.comm, "worker", 6);
    std::memcpy(fixed.process, "server", 6);
    fixed.kernel_frames = kernel_frames ? kernel_frames : static_cast<u16>(kernel.size());
    fixed.flags = flags;
    fixed.user_bytes = user_bytes ? user_bytes : static_cast<u16>(copy);
    std::vector<std::byte> all;
    const auto append = [&](const auto& bytes) {
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
    append(std::as_bytes(std::span(&fixed, 1)));
    append(std::as_bytes(std::span(kernel)));
    user_registers registers{};
    registers.rip = rip;
    if (flags & SPAN_HAS_USER_STACK) append(std::as_bytes(std::span(&registers, 1)));
    all.resize(all.size() + copy);
    return all;
  }
};

class ProfileViewTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string shown(const std::vector<Sample>& samples, std::string format, ProfilePlan plan = {}) {
    OutputOptions output{.format = std::move(format), .file = folder_ / "report", .interval = {}};
    Namer namer;
    ProfileView view(std::move(plan), output, false, namer);
    SessionInfo info;
    info.duration = std::chrono::seconds(1);
    view.begin(info);
    for (const Sample& one : samples) {
      const std::vector<std::byte> bytes = one.bytes();
      view.record({&profile_sample_schema, bytes});
    }
    view.end(info, {});
    return read(folder_ / "report");
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("profile_view_test." + std::to_string(getpid()));
};

TEST_F(ProfileViewTest, JoinsTheKernelsStackAndTheProgramsStack) {
  const std::string text =
      shown({{.kernel = {1, 2}, .flags = SPAN_HAS_USER_STACK, .rip = 5, .copy = 16}}, "folded");
  EXPECT_EQ(text, "server;rip_5;copy_of_16;k2_[k];k1_[k] 1\n");
}

TEST_F(ProfileViewTest, ReadsNothingBeyondADamagedRecord) {
  const std::string text =
      shown({{.kernel = {1}, .kernel_frames = 65535},
             {.flags = SPAN_HAS_USER_STACK, .rip = 5, .copy = 8, .user_bytes = 65535}},
            "folded");
  EXPECT_EQ(text, "server;k1_[k] 1\nserver;rip_5;copy_of_8 1\n");
}

TEST_F(ProfileViewTest, WritesADrawingBesidesTheReport) {
  const std::string flame = folder_ / "flame.svg";
  EXPECT_THAT(shown({{.kernel = {1}}}, "text", {.flame = flame}), HasSubstr("k1  ([kernel])"));
  EXPECT_THAT(read(flame), HasSubstr("<svg"));
}

TEST_F(ProfileViewTest, LimitsTheRowsOfDataToTop) {
  const std::vector<Sample> samples = {{.kernel = {1}}, {.kernel = {1}}, {.kernel = {2}}};
  EXPECT_THAT(shown(samples, "csv"), HasSubstr("\nk2,"));
  EXPECT_THAT(shown(samples, "csv", {.top = 1}), Not(HasSubstr("\nk2,")));
  EXPECT_THAT(shown(samples, "csv", {.by = Whose::thread}),
              HasSubstr("\n10,11,worker,server,3,1,"));
}

TEST_F(ProfileViewTest, WarnsOfARateInStepWithTicks) {
  EXPECT_THAT(shown({{.kernel = {1}}}, "text", {.rate_hz = 100}),
              HasSubstr("100 Hz may be in step"));
  EXPECT_THAT(shown({{.kernel = {1}}}, "text", {.rate_hz = 99}), Not(HasSubstr("in step")));
}

/// A report with an interval of a second before each end of `parts`.
std::string with_intervals(const std::filesystem::path& folder, std::string format,
                           const std::vector<std::vector<Sample>>& parts) {
  OutputOptions output{.format = std::move(format), .file = folder / "report", .interval = "1s"};
  Namer namer;
  {
    ProfileView view({.event = PROFILE_CPU_CYCLES}, output, false, namer);
    SessionInfo info;
    view.begin(info);
    view.interval(info, Duration(0));
    for (const std::vector<Sample>& part : parts) {
      for (const Sample& one : part) {
        const std::vector<std::byte> bytes = one.bytes();
        view.record({&profile_sample_schema, bytes});
      }
      info.duration += std::chrono::seconds(1);
      view.interval(info, std::chrono::seconds(1));
    }
    view.end(info, {});
  }
  std::ifstream file(folder / "report");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ProfileViewTest, ShowsIntervalsThatAddUpToTheSession) {
  const std::vector<std::vector<Sample>> parts = {
      {{.kernel = {1}}, {.kernel = {1}}}, {}, {{.kernel = {2}}}};
  const std::string csv = with_intervals(folder_, "csv", parts);
  EXPECT_THAT(csv, HasSubstr("type,start,end,function,module,kernel,self,"));
  EXPECT_THAT(csv, HasSubstr("interval,1970-01-01T00:00:00.000000Z,1970-01-01T00:00:01."
                             "000000Z,k1,[kernel],true,2,2,1,1\n"));
  EXPECT_THAT(csv, HasSubstr("interval,1970-01-01T00:00:02.000000Z,1970-01-01T00:00:03."
                             "000000Z,k2,[kernel],true,1,1,1,1\n"));
  EXPECT_THAT(csv, HasSubstr("total,1970-01-01T00:00:00.000000Z,1970-01-01T00:00:03."
                             "000000Z,k1,[kernel],true,2,2,0.6"));
  const std::string text = with_intervals(folder_, "text", parts);
  EXPECT_THAT(text, HasSubstr("cycles, 99 Hz asked for\nn=2, 100% in the kernel"));
  EXPECT_THAT(text, HasSubstr("cycles, 99 Hz asked for\nn=0, - in the kernel"));
  EXPECT_THAT(text, HasSubstr("cycles, 99 Hz asked for\nn=3, 100% in the kernel"));
}

TEST_F(ProfileViewTest, HasNoIntervalsWithoutAPlaceForThem) {
  const auto check = [](std::string format) {
    check_profile_intervals({.format = std::move(format), .file = {}, .interval = "1s"});
  };
  for (const char* const format : {"json", "folded", "svg", "html", "pprof"})
    EXPECT_THROW(check(format), Error) << format;
  for (const char* const format : {"text", "ndjson", "csv"}) EXPECT_NO_THROW(check(format));
  EXPECT_NO_THROW(check_profile_intervals({.format = "json", .file = {}, .interval = {}}));
}

TEST(ProfilePlan, IsKeptByARecording) {
  SessionInfo info;
  info.options = kept_options({.event = PROFILE_CPU_CYCLES, .rate_hz = 499});
  ProfilePlan plan;
  use_kept(plan, info);
  EXPECT_EQ(plan.event, PROFILE_CPU_CYCLES);
  EXPECT_EQ(plan.rate_hz, 499u);
  info.options = {{"event", "light"}};
  ProfilePlan damaged;
  use_kept(damaged, info);
  EXPECT_EQ(damaged.event, PROFILE_CPU_CLOCK);
  EXPECT_EQ(damaged.rate_hz, 0u);
}

TEST(ProfileFormat, IsOneOfASinkOrADrawing) {
  for (const char* const format : {"text", "json", "ndjson", "csv", "folded", "svg", "html"})
    EXPECT_NO_THROW(check_sink_or_flame_format(format)) << format;
  EXPECT_THROW(check_sink_or_flame_format("perfetto"), Error);
}

}  // namespace
}  // namespace overdue::profile_view_test
