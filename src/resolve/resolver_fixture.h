#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel/child_fixture.h"
#include "resolve/resolved_stack.h"
#include "unwind/stopped.h"

namespace overdue::resolve_test {

/// Skips without root, which the sandbox and the reading of other processes need.
class ResolverTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

/// Registers and stack of a thread that the test has stopped with ptrace, as in a span's record.
struct Taken {
  explicit Taken(pid_t tid, std::size_t limit = 60u << 10) {
    registers = unwind_test::registers_of(tid);
    memory = unwind_test::memory_of(tid, registers.rsp - USER_RED_ZONE, limit);
  }
  user_registers registers{};
  std::vector<std::byte> memory;
};

inline std::vector<std::string> names_to_main(const ResolvedStack& stack) {
  std::vector<std::string> names;
  for (const StackFrame& frame : stack.frames) {
    names.push_back(to_text(frame));
    if (names.back() == "main") break;
  }
  return names;
}

/// Most C libraries have no symbol table, and this machine may lack their debug files.
inline std::size_t nameless_of_c_library(const ResolvedStack& stack) {
  std::size_t count = 0;
  for (const StackFrame& frame : stack.frames)
    count += frame.name.empty() && is_of_c_library(frame);
  return count;
}

/// The value of a field in /proc/PID/status, without the blanks before it.
inline std::string status_of(pid_t pid, const std::string& field) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) {
      const std::size_t begin = line.find_first_not_of(" \t", field.size() + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  return "none";
}

}  // namespace overdue::resolve_test
