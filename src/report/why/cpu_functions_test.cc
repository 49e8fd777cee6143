#include "report/why/cpu_functions.h"

#include <vector>

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
  for (const CpuFunctions::Work& work : cpu.works_of({10, "app"}, {}))
    if (work.name == "page faults") leave_out(work.counted, functions);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].samples, 3u) << "most of the rest is no work of main's";
  EXPECT_EQ(functions[0].of, 4u);
  EXPECT_EQ(functions[1].function, "main");
  EXPECT_EQ(functions[1].samples, 1u);
}

StackFrame kernel_frame(const char* name) {
  return {.name = name, .module = "[kernel]", .is_kernel = true};
}

Stack program(std::vector<const char*> functions) {
  Stack stack;
  for (const char* function : functions) stack.push_back({.name = function, .module = "/bin/app"});
  return stack;
}

TEST(CpuFunctions, HaveTheSystemCallThatMostOfTheirSamplesAreIn) {
  CpuFunctions cpu;
  const Stack unmap = {kernel_frame("zap_pte_range"), kernel_frame("__x64_sys_munmap"),
                       kernel_frame("do_syscall_64")};
  for (int n = 0; n < 10; ++n) cpu.add(10, "app", n < 6 ? unmap : Stack{}, program({"main"}));
  for (int n = 0; n < 4; ++n) cpu.add(10, "app", n < 2 ? unmap : Stack{}, program({"work"}));
  const auto functions = cpu.of({10, "app"});
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(shown_function(functions[0]), "munmap ← main");
  EXPECT_EQ(shown_function(functions[1]), "work") << "no more than half";
}

TEST(CpuFunctions, ScatteredOverManyFunctionsHaveOneInCommon) {
  CpuFunctions cpu;
  for (const char* leaf : {"match", "next", "copy", "match", "hash"})
    for (int n = 0; n < 4; ++n)
      cpu.add(10, "app", {}, program({leaf, "list_keys", "command", "loop", "main"}));
  for (int n = 0; n < 2; ++n)
    cpu.add(10, "app", {}, program({"get", "get", "get_key", "command", "loop", "main"}));
  const auto common = cpu.common_of({10, "app"});
  ASSERT_TRUE(common);
  EXPECT_EQ(common->function, "list_keys");
  EXPECT_EQ(common->samples, 20u);
  EXPECT_EQ(common->of, 22u);
}

TEST(CpuFunctions, OfPythonGoBeforeThoseOfItsLibraries) {
  CpuFunctions cpu;
  for (int n = 0; n < 9; ++n) {
    Stack user = program({n < 3 ? "copy" : n < 6 ? "update" : "final", "derive_key"});
    user.push_back({.name = "render", .module = std::string(python_module)});
    user.push_back({.name = "<module>", .module = std::string(python_module)});
    cpu.add(10, "python3", {}, user);
  }
  const auto common = cpu.common_of({10, "python3"});
  ASSERT_TRUE(common);
  EXPECT_EQ(common->function, "render");
}

TEST(CpuFunctions, WithOneLargeFunctionOrNothingButTheirStartHaveNoneInCommon) {
  CpuFunctions cpu;
  for (int n = 0; n < 10; ++n) {
    cpu.add(10, "large", {}, program({n < 7 ? "spin" : "rest", "work", "main"}));
    cpu.add(11, "flat", {}, program({n < 3 ? "a" : n < 6 ? "b" : "c", "main"}));
  }
  EXPECT_FALSE(cpu.common_of({10, "large"}));
  EXPECT_FALSE(cpu.common_of({11, "flat"}));
  EXPECT_FALSE(cpu.common_of({12, "none"}));
}

}  // namespace
}  // namespace overdue
