// Paths of functions in the text of a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/finding_fixture.h"
#include "sinks/text_finding.h"

namespace overdue {
namespace {

using ::testing::HasSubstr;

std::string text_of(const Finding& finding) {
  return finding_text(finding, SessionInfo{}, {});
}

TEST(FindingPaths, CutsLongPathsInTheMiddle) {
  Finding f = late_open();
  Stack stack;
  for (const char* name : {"write", "f", "e", "d", "c", "b", "main", "_start"})
    stack.push_back(in_program(name));
  f.user_stack = stack;
  EXPECT_THAT(text_of(f), HasSubstr("called from  main → … → d → e → f → write\n"));
  f.user_stack_end = "cut";
  f.user_stack->resize(3);
  EXPECT_THAT(text_of(f), HasSubstr("called from  e → f → write (cut)\n"));
  f.user_stack = Stack{in_program("_start")};
  EXPECT_THAT(text_of(f), HasSubstr("called from  _start (cut)\n"));
}

TEST(FindingPaths, LeavesOutFunctionsThatOnlyLeadToTheNext) {
  Finding f = late_open();
  f.chain.clear();
  f.waits[0].waker.reset();
  Stack& kernel = f.places[0].kernel_stack;
  kernel.clear();
  for (const char* name : {"futex_do_wait", "__futex_wait", "futex_wait", "do_futex"})
    kernel.push_back(in_kernel(name));
  f.waits[0].kernel_stack = kernel;
  StackFrame common = in_program("__futex_abstimed_wait_common"), wait = in_program("sem_wait");
  common.module = wait.module = "/lib/x86_64-linux-gnu/libc.so.6";
  f.user_stack = Stack{common, wait, in_program("work"), in_program("main")};
  EXPECT_THAT(text_of(f), HasSubstr("  blocked       2.29s  futex_wait → futex_do_wait (D)\n"));
  EXPECT_THAT(text_of(f), HasSubstr("  called from  main → work → sem_wait\n"));
}

TEST(FindingPaths, LeavesOutNoFunctionOfAScript) {
  Finding f = late_open();
  Stack stack;
  for (const char* name : {"fsync", "uv_fs_fsync", "Fsync", "Call", "HandleApiCall", "JS:save",
                           "JS:flush", "JSEntry", "JS:load", "JS:run", "Invoke", "Start"})
    stack.push_back(in_program(name));
  for (StackFrame& frame : stack) frame.is_jit = frame.name.starts_with("JS:");
  f.user_stack = stack;
  EXPECT_THAT(text_of(f), HasSubstr("called from  Start → … → JS:load → … → JS:flush → JS:save → … "
                                    "→ Call → Fsync → uv_fs_fsync → fsync\n"));
}

}  // namespace
}  // namespace overdue
