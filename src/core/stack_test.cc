#include "core/stack.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

Stack of(const std::vector<std::string>& names) {
  Stack stack;
  for (const std::string& name : names) stack.push_back({.name = name});
  return stack;
}

TEST(Stack, WhatCalledOurProgramIsDropped) {
  Stack stack = of({"bpf_prog_1234_on_waking", "bpf_trace_run1", "__traceiter_sched_waking",
                    "trace_sched_waking", "try_to_wake_up", "pipe_write"});
  stack.insert(stack.begin(), StackFrame{.name = "on_waking", .module = "[bpf]"});
  drop_tracing(stack);
  EXPECT_EQ(stack, of({"try_to_wake_up", "pipe_write"}));
}

// A thread in bpf(2) is woken, or a BPF program of another process waits.
TEST(Stack, FramesBehindOthersAreKept) {
  const Stack whole = of({"schedule", "bpf_map_do_batch", "bpf_trace_run1", "trace_event_read"});
  Stack stack = whole;
  drop_tracing(stack);
  EXPECT_EQ(stack, whole);
  stack = {};
  drop_tracing(stack);
  EXPECT_TRUE(stack.empty());
}

StackFrame of_file(std::string module, std::string name) {
  return {.name = std::move(name), .module = std::move(module)};
}

/// Innermost first, with their files, as a text.
std::string folded(Stack stack) {
  fold_unnamed(stack);
  std::string text;
  for (const StackFrame& frame : stack)
    text += (frame.follows_gap ? "…" : "") + (frame.name.empty() ? "?" : frame.name) + " ";
  return text;
}

constexpr const char* libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";

TEST(FoldUnnamed, WhatALibraryDoesNotExportIsAPartOfWhatItExports) {
  EXPECT_EQ(folded({of_file(libc, ""), of_file(libc, ""), of_file(libc, "read"),
                    of_file("/bin/x", "main"), of_file(libc, ""),
                    of_file(libc, "__libc_start_main"), of_file("/bin/x", "_start")}),
            "read main __libc_start_main _start ");
  EXPECT_EQ(folded({of_file("/opt/y.so", ""), of_file("/opt/y.so", "plugin")}), "plugin ");
}

TEST(FoldUnnamed, OfProgramsAndOfOtherFilesNothing) {
  EXPECT_EQ(folded({of_file("/bin/x", ""), of_file("/bin/x", "exported")}), "? exported ");
  EXPECT_EQ(folded({of_file(libc, ""), of_file("/bin/x", "main")}), "? main ");
  EXPECT_EQ(folded({of_file(libc, ""), of_file("/usr/lib/libm.so.6", "cos")}), "? cos ");
  EXPECT_EQ(folded({of_file("[jit]", ""), of_file("[jit]", "compiled")}), "? compiled ");
  EXPECT_EQ(folded({of_file(libc, ""), of_file(libc, "")}), "? ? ");
  EXPECT_EQ(folded({}), "");
}

/// An exported function may be missing between the two frames.
TEST(FoldUnnamed, NotAcrossAGapNorWhatWasGuessed) {
  Stack stack{of_file(libc, ""), of_file(libc, "read"), of_file("/bin/x", "main")};
  stack[1].follows_gap = true;
  EXPECT_EQ(folded(stack), "? …read main ");
  stack[1].follows_gap = false;
  stack[0].is_guessed = true;
  EXPECT_EQ(folded(stack), "? read main ");
}

TEST(FoldUnnamed, AGapBeforeThePartIsOneBeforeTheWhole) {
  Stack stack{of_file("/bin/x", "handler"), of_file(libc, ""), of_file(libc, "qsort")};
  stack[1].follows_gap = true;
  EXPECT_EQ(folded(stack), "handler …qsort ");
}

}  // namespace
}  // namespace overdue
