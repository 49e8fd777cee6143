// The built-in names against the tracepoints of the running kernel.
#include <filesystem>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "syscalls/names.h"
#include "syscalls/names_table.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

const fs::path events = "/sys/kernel/tracing/events/syscalls";

TEST(SyscallTracepoints, EveryOneBelongsToANativeCall) {
  std::error_code unreadable;
  if (!fs::is_directory(events, unreadable)) GTEST_SKIP() << "no " << events << " here";
  std::set<std::string> found;
  std::string without;
  for (const std::string_view name : builtin_names(ABI_NATIVE)) {
    if (name.empty()) continue;
    if (const auto tracepoint = find_tracepoint(events, name)) {
      EXPECT_TRUE(found.insert(*tracepoint).second)
          << *tracepoint << " found twice, now for " << name;
    } else {
      without += " " + std::string(name);
    }
  }
  std::cout << "native calls without a tracepoint on this kernel:" << without << "\n";
  for (const auto& entry : fs::directory_iterator(events)) {
    const std::string event = entry.path().filename();
    if (!event.starts_with("sys_enter_")) continue;
    EXPECT_TRUE(found.contains(event)) << event << " is nobody's tracepoint";
    EXPECT_TRUE(syscall_number(ABI_NATIVE, event)) << event << " is no name of a call";
  }
}

}  // namespace
}  // namespace overdue
