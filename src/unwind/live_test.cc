// Programs from elsewhere, stopped anywhere, compared with gdb.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "unwind/test_support.h"

// clang-tidy does not see that ASSERT_TRUE leaves the test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)
namespace overdue {
namespace {

using unwind_test::capture;
using unwind_test::Captured;
using unwind_test::Child;
using unwind_test::Lines;
using unwind_test::names_of;
using unwind_test::threads_of;
using unwind_test::wait_until_still;

/// The addresses of each thread's frames; frames of inlined functions have none.
std::map<pid_t, std::vector<std::uint64_t>> stacks_by_gdb(pid_t pid) {
  const std::string script = testing::TempDir() + fmt::format("/unwind-{}.py", getpid());
  {
    std::ofstream file(script);
    file << "import gdb\n"
            "for thread in gdb.selected_inferior().threads():\n"
            "  thread.switch()\n"
            "  print('LWP', thread.ptid[1])\n"
            "  frame = gdb.newest_frame()\n"
            "  try:\n"
            "    while frame:\n"
            "      if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME): print('PC', "
            "frame.pc())\n"
            "      frame = frame.older()\n"
            "  except gdb.error: pass\n";
  }
  Lines lines(
      fmt::format("gdb -nx -iex 'set debuginfod enabled off' -p {} -batch -ex 'set backtrace "
                  "past-main on' -ex 'set backtrace past-entry on' -x '{}'",
                  pid, script));
  std::map<pid_t, std::vector<std::uint64_t>> stacks;
  pid_t tid = 0;
  unsigned long long number = 0;
  while (const char* line = lines.next()) {
    if (sscanf(line, "LWP %llu", &number) == 1) tid = static_cast<pid_t>(number);
    if (sscanf(line, "PC %llu", &number) == 1) stacks[tid].push_back(number);
  }
  unlink(script.c_str());
  return stacks;
}

struct Program {
  const char* name;
  std::vector<std::string> arguments;
  bool is_native;  ///< no generated code: every frame is also gdb's
  bool waits;      ///< waits at a known place; the others are stopped anywhere
};

class LiveProgram : public testing::TestWithParam<Program> {};

TEST_P(LiveProgram, HasTheStacksThatGdbFinds) {
  if (!GetParam().waits && std::getenv("OVERDUE_LONG") == nullptr)
    GTEST_SKIP() << "where it stops is another place every time: OVERDUE_LONG=1 runs it";
  if (std::system("command -v gdb >/dev/null") != 0) GTEST_SKIP() << "no gdb";
  if (std::system(("command -v " + GetParam().arguments[0] + " >/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no " << GetParam().arguments[0];
  const Child child(GetParam().arguments, false, std::chrono::minutes(3));
  if (GetParam().waits)
    ASSERT_TRUE(wait_until_still(child.pid()));
  else
    std::this_thread::sleep_for(std::chrono::seconds(2));  // until it has begun to work
  kill(child.pid(), SIGSTOP);
  waitpid(child.pid(), nullptr, WUNTRACED);
  auto maps = ProcessMaps::read(child.pid());
  auto process = Process::read(child.pid());
  ASSERT_TRUE(maps && process);
  AddressSpace space(child.pid(), std::move(*maps));
  Unwinder unwinder;
  Symbolizer symbolizer;
  std::map<pid_t, UnwoundStack> ours;
  for (const pid_t tid : threads_of(child.pid())) {
    ASSERT_EQ(ptrace(PTRACE_SEIZE, tid, nullptr, nullptr), 0);
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    waitpid(tid, nullptr, __WALL);
    const Captured captured = capture(tid, 1u << 20);
    ours[tid] = unwinder.unwind(space, captured.snapshot);
    ptrace(PTRACE_DETACH, tid, nullptr, SIGSTOP);
  }
  const auto theirs = stacks_by_gdb(child.pid());
  std::size_t same = 0, frames = 0, complete = 0;
  for (const auto& [tid, stack] : ours) {
    complete += stack.end.reason == UnwindEnd::Reason::bottom;
    const auto found = theirs.find(tid);
    if (found == theirs.end()) continue;
    std::vector<std::uint64_t> addresses;
    for (const UnwoundFrame& frame : stack.frames) addresses.push_back(frame.address);
    frames += addresses.size();
    same += addresses == found->second;
    if (addresses == found->second || !GetParam().is_native) continue;
    std::string text;
    for (const auto& name : names_of(symbolizer, *process, stack)) text += name + " ";
    ADD_FAILURE() << tid << ": " << text << to_text(stack.end) << "; gdb has "
                  << found->second.size() << " frames, we " << addresses.size();
  }
  std::printf("%s: %zu of %zu threads as gdb, %zu complete, %zu frames\n", GetParam().name, same,
              theirs.size(), complete, frames);
  EXPECT_FALSE(theirs.empty());
  EXPECT_GT(same, 0u);
  EXPECT_GT(complete, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, LiveProgram,
    testing::Values(
        Program{"python",
                {"/usr/bin/python3", "-c",
                 "import threading, time\n"
                 "def wait(n): time.sleep(99) if n == 0 else wait(n - 1)\n"
                 "threading.Thread(target=wait, args=(5,), daemon=True).start()\nwait(9)"},
                true,
                true},
        Program{"python_working",
                {"/usr/bin/python3", "-c", "while True: sorted(map(str, range(999)))"},
                true,
                false},
        Program{"bash", {"/bin/bash", "-c", "f() { sleep 99; }; f; f"}, true, true},
        Program{"java", {"rmiregistry", "0"}, false, false},
        Program{"node",
                {"node", "-e", "function f(n) { if (n) return f(n - 1) + 1; for (;;) ; }; f(9)"},
                false,
                false}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace overdue
// NOLINTEND(bugprone-unchecked-optional-access)
