// Java frames, interpreted and compiled, between those of the virtual machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unwind/test_support.h"

// clang-tidy does not see that ASSERT_TRUE leaves the test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)
namespace overdue {
namespace {

using unwind_test::capture_span;
using unwind_test::Captured;
using unwind_test::Child;
using unwind_test::names_of;
using unwind_test::threads_of;

/// The id of a sleeping thread with this name; 0 if there is none.
pid_t sleeping_thread(pid_t pid, const std::string& name) {
  for (const pid_t tid : threads_of(pid)) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
    std::string text;
    std::getline(file, text);
    if (text.find("(" + name + ") S") != std::string::npos) return tid;
  }
  return 0;
}

class Java : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::system("command -v javac jcmd >/dev/null") != 0) GTEST_SKIP() << "no javac, no jcmd";
    folder_ = fmt::format("{}overdue-java-{}", testing::TempDir(), getpid());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  bool comes(const std::string& path) const {
    for (int tries = 0; tries < 3000 && !std::filesystem::exists(path); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::filesystem::exists(path);
  }
  std::string folder_;
};

TEST_P(Java, StacksAreComplete) {
  ASSERT_EQ(std::system(fmt::format("timeout -k 1 60 javac -d '{}' '{}'", folder_,
                                    std::string(OVERDUE_UNWIND_FIXTURE_SOURCE) + "/Levels.java")
                            .c_str()),
            0);
  const std::string ready = folder_ + "/ready";
  const Child child({"java", "-XX:+PreserveFramePointer", "-Xshare:auto", "-XX:-Inline",
                     "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Levels.*",
                     GetParam(), "-cp", folder_, "Levels", ready},
                    false, std::chrono::minutes(3));
  ASSERT_TRUE(comes(ready));
  const std::string map = fmt::format("/tmp/perf-{}.map", child.pid());
  ASSERT_EQ(std::system(
                fmt::format("timeout -k 1 60 jcmd {} Compiler.perfmap >/dev/null 2>&1", child.pid())
                    .c_str()),
            0);
  pid_t tid = 0;
  for (int tries = 0; tries < 1000 && tid == 0; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    tid = sleeping_thread(child.pid(), "waiter");
  }
  ASSERT_NE(tid, 0);
  auto process = Process::read(child.pid());
  auto maps = ProcessMaps::read(child.pid());
  unlink(map.c_str());
  ASSERT_TRUE(process && maps);
  ASSERT_EQ(ptrace(PTRACE_SEIZE, tid, nullptr, nullptr), 0);
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  ASSERT_EQ(waitpid(tid, nullptr, __WALL), tid);
  const Captured captured = capture_span(tid);
  AddressSpace space(child.pid(), std::move(*maps));
  Unwinder unwinder;
  Symbolizer symbolizer;
  const UnwoundStack stack = unwinder.unwind(space, captured.snapshot);
  const auto names = names_of(symbolizer, *process, stack);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (stack.frames[i].follows_gap ? "…\n" : "") + names[i] + "\n";
  SCOPED_TRACE(text);
  EXPECT_EQ(to_text(stack.end), "complete");
  // The C library's wait, the virtual machine, nine levels, run, the virtual machine, its thread.
  const bool is_interpreted = GetParam() == std::string("-Xint");
  const std::string level = is_interpreted ? "Interpreter" : "Levels.level";
  const auto levels = std::ranges::count_if(
      names, [&](const std::string& name) { return name.find(level) != std::string::npos; });
  EXPECT_GE(levels, 8);  // and one that fell back to the interpreter
  EXPECT_THAT(names, testing::Contains("JavaCalls::call_virtual"));
  EXPECT_THAT(names, testing::Contains("JVM_Sleep"));
  ASSERT_GE(names.size(), 20u);
  EXPECT_THAT(names.back(), testing::AnyOf(testing::HasSubstr("clone"),  // or, without a name
                                           testing::StartsWith("[libc.so.6+")));
}

INSTANTIATE_TEST_SUITE_P(Modes, Java, testing::Values("-Xint", "-Xcomp"),
                         [](const auto& param) { return std::string(param.param + 1); });

}  // namespace
}  // namespace overdue
// NOLINTEND(bugprone-unchecked-optional-access)
