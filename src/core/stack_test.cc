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

// A thread in bpf(2) is woken, or a program of others' has a wait of its own.
TEST(Stack, FramesBehindOthersAreKept) {
  const Stack whole = of({"schedule", "bpf_map_do_batch", "bpf_trace_run1", "trace_event_read"});
  Stack stack = whole;
  drop_tracing(stack);
  EXPECT_EQ(stack, whole);
  stack = {};
  drop_tracing(stack);
  EXPECT_TRUE(stack.empty());
}

}  // namespace
}  // namespace overdue
