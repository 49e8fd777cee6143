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

TEST(CpuFunctions, WithoutTheWorkOfTheKernelHaveSharesOfTheRest) {
  CpuFunctions cpu;
  const Stack in_main = {{.name = "main", .module = "/bin/app"}};
  const Stack fault = {{.name = "clear_page_erms", .module = "[kernel]", .is_kernel = true},
                       {.name = "asm_exc_page_fault", .module = "[kernel]", .is_kernel = true}};
  const Stack at_exit = {{.name = "exit_mmap", .module = "[kernel]", .is_kernel = true},
                         {.name = "do_exit", .module = "[kernel]", .is_kernel = true}};
  for (int n = 0; n < 6; ++n) cpu.add(10, "app", fault, in_main);
  for (int n = 0; n < 3; ++n) cpu.add(10, "app", at_exit, {});
  cpu.add(10, "app", {}, in_main);
  auto functions = cpu.of({10, "app"});
  ASSERT_EQ(functions.front().function, "main");
  EXPECT_EQ(functions.front().samples, 7u);
  for (const CpuFunctions::Work& work : cpu.works_of({10, "app"}))
    if (work.name == "page faults") leave_out(work.counted, functions);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].samples, 3u) << "most of the rest is no work of main's";
  EXPECT_EQ(functions[0].of, 4u);
  EXPECT_EQ(functions[1].function, "main");
  EXPECT_EQ(functions[1].samples, 1u);
}

}  // namespace
}  // namespace overdue
