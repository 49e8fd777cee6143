// Files with events, read by a child that may die, hang or lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "resolve/sandboxed_event_finder.h"
#include "symbols/open_file.h"
#include "unwind/test_support.h"

namespace overdue {
namespace {

using testing::HasSubstr;
using unwind_test::fixtures;

const std::string stacks_program = fixtures + "/stacks";

std::string failure_of(EventFinder& finder, const Fd& file) {
  try {
    finder.function(file, "main");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(SandboxedEventFinder, FindsWhatWeFind) {
  SandboxedEventFinder sandboxed;
  LocalEventFinder local;
  const Fd file = open_regular(stacks_program);
  for (const char* name : {"main", "no_such_function", ""}) {
    const FunctionPlaces found = sandboxed.function(file, name),
                         expected = local.function(file, name);
    EXPECT_EQ(found.offsets, expected.offsets) << name;
    EXPECT_EQ(found.nearest, expected.nearest) << name;
    EXPECT_EQ(found.is_elf, expected.is_elf);
    EXPECT_EQ(found.has_names, expected.has_names);
  }
  EXPECT_EQ(sandboxed.function(file, "main").offsets.size(), 1u);
  EXPECT_FALSE(sandboxed.function(open_regular("/etc/passwd"), "main").is_elf);
  EXPECT_TRUE(sandboxed.usdt(file, "a", "b").sites.empty());
}

/// The C++ library has probes where it throws and catches.
TEST(SandboxedEventFinder, FindsProbesWhereWeFindThem) {
  SandboxedEventFinder sandboxed;
  LocalEventFinder local;
  const char* const path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
  const Fd file = open_regular(path);
  if (!file) GTEST_SKIP() << "no " << path;
  const UsdtPlaces expected = local.usdt(file, "libstdcxx", "throw");
  if (expected.sites.empty()) GTEST_SKIP() << "no probes in " << path;
  EXPECT_EQ(sandboxed.usdt(file, "libstdcxx", "throw").sites, expected.sites);
  EXPECT_THAT(sandboxed.usdt(file, "libstdcxx", "thow").others, HasSubstr("libstdcxx:throw"));
}

TEST(SandboxedEventFinder, AChildThatDiesOrHangsCostsAnAnswer) {
  const Fd file = open_regular(stacks_program);
  SandboxedEventFinder dies({.probe = [] { std::abort(); }});
  EXPECT_THAT(failure_of(dies, file), HasSubstr("has ended"));
  EXPECT_THAT(failure_of(dies, file), HasSubstr("has ended")) << "nor does the next one live";
  SandboxedEventFinder opens({.probe = [] { close(open("/etc/passwd", O_RDONLY)); }});
  EXPECT_THAT(failure_of(opens, file), HasSubstr("has ended"));
  SandboxedEventFinder hangs({.patience = std::chrono::milliseconds(100), .probe = [] {
                                while (true) continue;
                              }});
  EXPECT_THAT(failure_of(hangs, file), HasSubstr("did not answer in 100ms"));
}

}  // namespace
}  // namespace overdue
