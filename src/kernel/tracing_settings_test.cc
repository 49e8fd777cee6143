// Settings are restored when the process that changed them ends, even if the process is killed.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/read_text.h"
#include "kernel/tracing_settings.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> names{"cpus", "stop_tracing_us", "print_stack",
                                                "options"};

class Settings : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "settings-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    folder = root / "osnoise";
    keeper = root / "kept/osnoise";
    fs::create_directory(folder);
    write("cpus", "0-1\n");
    write("stop_tracing_us", "0\n");
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const char* name, const char* text) const { std::ofstream(folder / name) << text; }
  std::string said(const char* name) const { return read_word(folder / name); }

  fs::path root, folder, keeper;
};

TEST_F(Settings, ArePutBack) {
  {
    const TracingSettings settings(folder, keeper, names);
    EXPECT_TRUE(settings.has("cpus"));
    EXPECT_FALSE(settings.has("print_stack"));
    EXPECT_EQ(settings.former("cpus"), "0-1");
    settings.set("cpus", "1");
    settings.set("stop_tracing_us", "100");
    EXPECT_EQ(said("cpus"), "1");
    EXPECT_TRUE(fs::exists(keeper));
    EXPECT_THROW(settings.set("print_stack/none", "1"), Error);
    EXPECT_FALSE(settings.found_left_over());
  }
  EXPECT_EQ(said("cpus"), "0-1");
  EXPECT_EQ(said("stop_tracing_us"), "0");
  EXPECT_FALSE(fs::exists(keeper));
}

TEST_F(Settings, OfAKilledProcessArePutBackByTheNext) {
  const pid_t child = fork();
  if (child == 0) {
    const TracingSettings settings(folder, keeper, names);
    settings.set("cpus", "1");
    settings.set("stop_tracing_us", "100");
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(said("cpus"), "1");
  {
    const TracingSettings settings(folder, keeper, names);
    EXPECT_TRUE(settings.found_left_over());
    EXPECT_EQ(said("cpus"), "0-1");
    EXPECT_EQ(settings.former("cpus"), "0-1");
    settings.set("stop_tracing_us", "7");
  }
  EXPECT_EQ(said("stop_tracing_us"), "0");
}

TEST_F(Settings, AreNotTouchedWhereNothingWasChanged) {
  const pid_t child = fork();
  if (child == 0) {
    const TracingSettings settings(folder, keeper, names);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(fs::file_size(keeper), 0u);
  write("cpus", "1\n");  // by another process
  {
    const TracingSettings settings(folder, keeper, names);
    EXPECT_FALSE(settings.found_left_over());
    write("cpus", "0\n");
  }
  EXPECT_EQ(said("cpus"), "0");
  EXPECT_FALSE(fs::exists(keeper));
}

TEST_F(Settings, OfAnotherKindArePutBackToo) {
  constexpr std::array<std::string_view, 1> others{"stop_tracing_us"};
  const pid_t child = fork();
  if (child == 0) {
    const TracingSettings settings(folder, keeper, names);
    settings.set("cpus", "1");
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  {
    const TracingSettings settings(folder, keeper, others, names);
  }
  EXPECT_EQ(said("cpus"), "0-1");
}

TEST_F(Settings, AreOneProcessesAtATime) {
  int reported[2];
  ASSERT_EQ(pipe(reported), 0);
  const pid_t child = fork();
  if (child == 0) {
    const TracingSettings settings(folder, keeper, names);
    if (::write(reported[1], "x", 1) < 0) _exit(1);
    while (true) pause();
  }
  char ready;
  ASSERT_EQ(read(reported[0], &ready, 1), 1);
  EXPECT_THROW(TracingSettings(folder, keeper, names), Error);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(TracingSettings(folder, keeper, names));
  close(reported[0]);
  close(reported[1]);
}

TEST_F(Settings, WhatIsKeptIsNotBelieved) {
  fs::create_directories(keeper.parent_path());
  fs::permissions(keeper.parent_path(), fs::perms(0711));
  std::ofstream(keeper)
      << "cpus=3\n../osnoise/stop_tracing_us=4\nother=5\nstop_tracing_us=\x01\n=\n";
  EXPECT_NO_THROW(TracingSettings(folder, keeper, names));
  EXPECT_EQ(said("cpus"), "3");
  EXPECT_EQ(said("stop_tracing_us"), "0");
  EXPECT_FALSE(fs::exists(folder / "other"));
  fs::permissions(keeper.parent_path(), fs::perms(0777));
  EXPECT_THROW(TracingSettings(folder, keeper, names), Error);
}

TEST_F(Settings, WordsArePutBackOneByOne) {
  write("options", "NO_DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP\n");
  {
    const TracingSettings settings(folder, keeper, names);
    EXPECT_EQ(settings.former("options"), "OSNOISE_WORKLOAD NO_PANIC_ON_STOP");
    settings.set("options", "NO_OSNOISE_WORKLOAD");
  }
  EXPECT_EQ(said("options"), "NO_PANIC_ON_STOP");  // the last write; the kernel's file applies each
}

}  // namespace
}  // namespace overdue
