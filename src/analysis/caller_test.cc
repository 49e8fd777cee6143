#include "analysis/caller.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

constexpr ProgramCode program{.start = 0x1000, .end = 0x2000};
constexpr std::uint64_t in_program = 0x1234;

StackFrame of_library(std::string name) {
  return {.address = 0x7000, .name = std::move(name), .module = "/usr/lib/libc.so.6"};
}
StackFrame of_program(std::string name) {
  return {.address = in_program, .name = std::move(name), .module = "/bin/x"};
}
StackFrame made(std::string module) {
  return {.address = 0x9000, .name = "compiled", .module = std::move(module)};
}
StackFrame trampoline() {
  StackFrame frame = of_library("__restore_rt");
  frame.is_signal = true;
  return frame;
}
StackFrame guessed(StackFrame frame) {
  frame.is_guessed = true;
  return frame;
}

/// Name of the picked frame; "-": none.
std::string picked(const Stack& frames, bool is_complete = true) {
  const auto index = pick_caller(frames, is_complete, program);
  return index ? frames[*index].name : "-";
}

TEST(PickCaller, IsWhatTheProgramCalled) {
  EXPECT_EQ(picked({of_library("read"), of_program("main"), of_library("__libc_start_main")}),
            "read");
  EXPECT_EQ(picked({of_library("write"), of_library("_IO_file_write"), of_library("printf"),
                    of_program("main"), of_library("__libc_start_main")}),
            "printf");
}

TEST(PickCaller, NeedsNoMoreOfTheStackThanThat) {
  EXPECT_EQ(picked({of_library("read"), of_program("main")}, false), "read");
  EXPECT_EQ(picked({of_library("read"), of_program("main"), guessed(of_program("?"))}, false),
            "read");
}

TEST(PickCaller, IsWhatACallbackCalled) {
  EXPECT_EQ(picked({of_library("getppid"), of_program("compare"), of_library("qsort"),
                    of_program("main")}),
            "getppid");
}

TEST(PickCaller, OutsideOfTheProgramIsTheOutermost) {
  EXPECT_EQ(picked({of_library("madvise"), of_library("start_thread"), of_library("clone3")}),
            "clone3");
  EXPECT_EQ(picked({of_library("madvise"), of_library("start_thread")}, false), "-");
}

TEST(PickCaller, ATrampolineIsNobodysCall) {
  EXPECT_EQ(picked({trampoline(), of_library("read"), of_program("main")}), "__restore_rt");
  EXPECT_EQ(picked({of_library("write"), of_library("handler"), trampoline(), of_library("read"),
                    of_program("main")}),
            "handler");
  EXPECT_EQ(picked({of_library("getuid"), of_program("on_signal"), trampoline()}), "getuid");
}

TEST(PickCaller, InAStaticProgramIsWhoCalledTheFunctionWithTheInstruction) {
  EXPECT_EQ(picked({of_program("read"), of_program("load"), of_program("main")}), "load");
  EXPECT_EQ(picked({of_program("main"), of_library("__libc_start_main")}), "main");
  EXPECT_EQ(picked({of_program("_start")}), "_start");
  EXPECT_EQ(picked({of_program("read")}, false), "-");
  EXPECT_EQ(picked({of_program("read"), guessed(of_program("main"))}), "-");
}

TEST(PickCaller, MadeCodeIsTheProgramsOwn) {
  for (const char* module : {"[jit]", "[anon]", "[heap]", "/memfd:jit", "/dev/zero", "/SYSV0000"})
    EXPECT_EQ(picked({of_library("read"), of_library("Java_read0"), made(module)}, false),
              "Java_read0")
        << module;
  EXPECT_EQ(picked({made("[jit]"), of_program("main")}), "compiled");
}

TEST(PickCaller, TheVdsoIsALibrary) {
  StackFrame vdso = made("[vdso]");
  vdso.name = "__vdso_clock_gettime";
  EXPECT_EQ(picked({vdso, of_library("clock_gettime"), of_program("main")}), "clock_gettime");
  EXPECT_EQ(picked({vdso, of_program("main")}), "__vdso_clock_gettime");
}

TEST(PickCaller, NeverGuesses) {
  EXPECT_EQ(picked({of_library("read"), guessed(of_program("main"))}), "-");
  EXPECT_EQ(picked({of_library("read"), guessed(of_library("fread")), of_program("main")}), "-");
  EXPECT_EQ(picked({of_library("read"), StackFrame{.address = 0x5000}, of_program("main")}), "-");
  EXPECT_EQ(picked({StackFrame{.address = 0x5000}, of_program("main")}), "-");
  EXPECT_EQ(picked({}), "-");
}

TEST(PickCaller, OfCloneTheStackPointerTells) {
  EXPECT_EQ(
      picked({of_library("clone3"), guessed(of_library("pthread_create")), of_program("main")}),
      "pthread_create");
  EXPECT_EQ(picked({of_library("clone3"), guessed(of_library("pthread_create")),
                    guessed(of_program("main"))}),
            "-");
}

TEST(PickCaller, OfACloneWithoutANameToo) {
  StackFrame clone = of_library("");
  EXPECT_EQ(picked({clone, guessed(of_library("pthread_create")), of_program("main")}), "-");
  clone.rule.flags = FRAME_LOST;
  EXPECT_EQ(picked({clone, guessed(of_library("pthread_create")), of_program("main")}),
            "pthread_create");
  clone.module = "/usr/lib/libother.so";
  EXPECT_EQ(picked({clone, guessed(of_library("pthread_create")), of_program("main")}), "-");
}

TEST(EntryOfLoader, EndsAStack) {
  StackFrame entry{.address = 0x7000, .name = "_start", .module = "/usr/lib/ld-linux-x86-64.so.2"};
  EXPECT_FALSE(is_entry_of_loader(entry));
  entry.rule.flags = FRAME_LOST;
  EXPECT_TRUE(is_entry_of_loader(entry));
  entry.module = "/usr/lib/libold-linux.so";
  EXPECT_FALSE(is_entry_of_loader(entry));
}

}  // namespace
}  // namespace overdue
