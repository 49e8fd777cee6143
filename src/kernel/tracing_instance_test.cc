// A tracing instance is removed when its process ends, even if the process is killed.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "kernel/child_fixture.h"
#include "kernel/features.h"
#include "kernel/tracing_instance.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Instance : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    const auto path = kernel.tracefs_path();
    if (!path || !fs::exists(*path / "instances")) GTEST_SKIP() << "no tracefs";
    tracefs = *path;
  }
  bool is_gone_soon(const fs::path& path) const {
    for (int i = 0; i < 500 && fs::exists(path); ++i) std::this_thread::sleep_for(10ms);
    return !fs::exists(path);
  }

  Kernel kernel;
  fs::path tracefs;
};

TEST_F(Instance, IsOurOwnAndGoneWhenItIsDestroyed) {
  fs::path path;
  {
    const TracingInstance instance(tracefs);
    path = instance.path();
    EXPECT_TRUE(fs::exists(path / "trace"));
    instance.write("trace_clock", "mono");
    EXPECT_NE(instance.read("trace_clock").find("[mono]"), std::string::npos);
    EXPECT_THROW(instance.write("current_tracer", "no_such_tracer"), Error);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Instance, IsGoneWhenItsProcessIsKilled) {
  int reported[2];
  ASSERT_EQ(pipe(reported), 0);
  const pid_t child = fork();
  if (child == 0) {
    const TracingInstance instance(tracefs);
    instance.try_write("events/sched/sched_switch/enable", "1");
    const std::string path = instance.path();
    if (write(reported[1], path.data(), path.size()) < 0) _exit(1);
    while (true) pause();
  }
  char text[512];
  const ssize_t size = read(reported[0], text, sizeof text);
  ASSERT_GT(size, 0);
  const fs::path path(std::string(text, static_cast<std::size_t>(size)));
  EXPECT_TRUE(fs::exists(path));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_gone_soon(path)) << path;
  close(reported[0]);
  close(reported[1]);
}

TEST_F(Instance, ThoseOfDeadProcessesAreSweptAndNoOthers) {
  const fs::path instances = tracefs / "instances";
  const TracingInstance ours(tracefs);
  const fs::path left = instances / "overdue-1-1";  // process 1 did not begin one tick after boot
  const fs::path others[] = {instances / "overdue-test", instances / "overdue-1-x"};
  fs::create_directory(left);
  for (const fs::path& other : others) fs::create_directory(other);
  EXPECT_EQ(sweep_tracing_instances(tracefs), 1u);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(ours.path()));
  for (const fs::path& other : others) {
    EXPECT_TRUE(fs::exists(other));
    rmdir(other.c_str());
  }
}

}  // namespace
}  // namespace overdue
