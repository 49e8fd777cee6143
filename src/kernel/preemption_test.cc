// The preemption model of a kernel, from its version text and debugfs.
#include "kernel/preemption.h"

#include <gtest/gtest.h>

#include <fstream>

namespace overdue {
namespace {

Preemption of(const char* release, const char* build, const char* modes = "") {
  const std::string path = testing::TempDir() + "preemption_test.modes";
  std::ofstream(path) << modes;
  Host host;
  host.kernel = release;
  host.build = build;
  return read_preemption(host, path);
}

TEST(Preemption, HasTheModelThatIsChosen) {
  const char* dynamic = "#1 SMP PREEMPT_DYNAMIC Debian";
  EXPECT_EQ(of("6.1.0", dynamic, "none (voluntary) full").model, "desktop");
  EXPECT_EQ(of("6.18.1", dynamic, "(none) voluntary full lazy").model, "server");
  EXPECT_EQ(of("6.18.1", dynamic, "none voluntary full (lazy)").model, "lazy");
  EXPECT_EQ(of("6.1.0", dynamic).model, "unknown");
  EXPECT_EQ(of("6.1.0", "#1 SMP PREEMPT Debian").model, "preempt");
  EXPECT_EQ(of("6.1.0-rt", "#1 SMP PREEMPT_RT Debian", "none (full)").model, "preempt_rt");
}

TEST(Preemption, KnowsWhereTheFlagsAre) {
  const auto flags = [](const char* release, const char* build) {
    const Preemption preemption = of(release, build);
    return std::pair(preemption.resched_bit, preemption.has_lazy);
  };
  EXPECT_EQ(flags("6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC"), std::pair(3u, false));
  EXPECT_EQ(flags("6.1.0-56-rt-amd64", "#1 SMP PREEMPT_RT"), std::pair(3u, true));
  EXPECT_EQ(flags("6.12.9", "#1 SMP PREEMPT_RT"), std::pair(3u, false));
  EXPECT_EQ(flags("6.13.0", "#1 SMP PREEMPT_DYNAMIC"), std::pair(3u, true));
  EXPECT_EQ(flags("6.18.44", "#1 SMP PREEMPT_DYNAMIC"), std::pair(4u, true));
  EXPECT_EQ(flags("what", "#1"), std::pair(3u, false));
}

}  // namespace
}  // namespace overdue
