#include "report/why/cpu_functions.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(CpuFunctions, OfProcessesWithOneNameAreOne) {
  CpuFunctions cpu;
  for (const std::uint32_t pid : {10u, 11u, 12u})
    cpu.add(pid, "cc1", {}, {{.name = pid == 12 ? "emit" : "parse", .module = "/bin/cc1"}});
  const auto all = cpu.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].function, "parse");
  EXPECT_EQ(all[0].samples, 2u);
  EXPECT_EQ(all[0].of, 3u);
}

}  // namespace
}  // namespace overdue
