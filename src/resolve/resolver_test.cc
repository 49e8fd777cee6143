// Real stacks of real processes, resolved in this process and in the child.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "resolve/local_resolver.h"
#include "resolve/resolver_fixture.h"
#include "resolve/sandboxed_resolver.h"

namespace overdue {
namespace {

using resolve_test::names_to_main;
using resolve_test::ResolverTest;
using resolve_test::Taken;
using testing::ElementsAre;
using testing::EndsWith;
using unwind_test::fixtures;
using unwind_test::Stopped;

class Resolvers : public ResolverTest {
 protected:
  ProcessImages images_;
  SandboxedResolver sandboxed_{images_};
  LocalResolver local_{images_};
  LocalResolver remembering_{images_, {.remember_frames = true}, {}};
};

TEST_F(Resolvers, FindTheSame) {
  std::size_t frames = 0;
  for (const char* program : {"stacks", "stacks_lazy", "stacks_static", "stacks_no_header"})
    for (const char* scenario :
         {"middle", "variable_frame", "recurse", "deep", "signal", "cleanup", "sort", "thread"}) {
      // Without the header, exceptions cannot unwind.
      if (std::string_view(program) == "stacks_no_header" &&
          std::string_view(scenario) == "cleanup")
        continue;
      Stopped stopped(program, scenario);
      const Taken taken(stopped.tid);
      const auto local = local_.user_stack(stopped.tid, taken.registers, taken.memory);
      const auto sandboxed = sandboxed_.user_stack(stopped.tid, taken.registers, taken.memory);
      EXPECT_EQ(local, sandboxed) << program << " " << scenario;
      for (int time = 0; time < 2; ++time)
        EXPECT_EQ(remembering_.user_stack(stopped.tid, taken.registers, taken.memory), local)
            << program << " " << scenario;
      std::vector<std::uint64_t> addresses;
      for (const auto& frame : local.frames) addresses.push_back(frame.address);
      EXPECT_EQ(local_.raw_user_stack(stopped.tid, addresses),
                sandboxed_.raw_user_stack(stopped.tid, addresses));
      frames += local.frames.size();
      EXPECT_EQ(local.end == StackEnd::complete, std::string_view(scenario) != "deep");
      EXPECT_EQ(local.unresolved, resolve_test::nameless_of_c_library(local))
          << program << " " << scenario;
    }
  EXPECT_GT(frames, 500u);
  EXPECT_EQ(sandboxed_.sandbox_cost().restarts, 0u);
  EXPECT_EQ(local_.cost().frames, sandboxed_.cost().frames);
  EXPECT_GE(remembering_.cost().from_cache, 8u);  // neither signals nor what ends early
}

TEST_F(Resolvers, FramesHaveNameModuleAndBuildId) {
  Stopped stopped("stacks", "middle");
  const Taken taken(stopped.tid);
  const auto stack = sandboxed_.user_stack(stopped.tid, taken.registers, taken.memory);
  EXPECT_THAT(names_to_main(stack), ElementsAre("leaf", "middle", "main"));
  ASSERT_FALSE(stack.frames.empty());
  EXPECT_THAT(stack.frames[0].module, EndsWith("/stacks"));
  EXPECT_EQ(stack.frames[0].address, taken.registers.rip);
  bool has_libc = false;
  for (const auto& frame : stack.frames)
    has_libc |= frame.module.find("libc.so") != std::string::npos && frame.build_id.size() == 40;
  EXPECT_TRUE(has_libc);
  EXPECT_FALSE(stack.frames[0].is_kernel || stack.frames[0].is_jit || stack.frames[0].is_guessed);
}

TEST_F(Resolvers, AFunctionThatEndsInAJumpHasTheNameThatWasCalled) {
  Stopped stopped("jumps", "");
  const Taken taken(stopped.tid);
  const auto stack = sandboxed_.user_stack(stopped.tid, taken.registers, taken.memory);
  EXPECT_THAT(names_to_main(stack), ElementsAre("stop", "jumps_entry", "main"));
  EXPECT_THAT(stack.frames.at(1).module, EndsWith("/libjumps.so"));
  EXPECT_EQ(stack, local_.user_stack(stopped.tid, taken.registers, taken.memory));
}

TEST_F(Resolvers, APluginThatIsLoadedLater) {
  Stopped stopped("stacks", "plugin");
  const Taken taken(stopped.tid);
  const auto stack = sandboxed_.user_stack(stopped.tid, taken.registers, taken.memory);
  EXPECT_THAT(names_to_main(stack), testing::Contains("plugin_entry"));
}

TEST_F(Resolvers, ADeletedBinaryOfAProcessThatIsGone) {
  const std::string path = testing::TempDir() + fmt::format("/gone-{}", getpid());
  std::filesystem::copy_file(fixtures + "/stacks", path);
  // A file that may be younger than its mapping counts as another file, and the file system records
  // its creation to a tick of the kernel: at most 10 ms.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Stopped stopped(std::vector<std::string>{path, "middle"});
  images_.add_target(stopped.tid);
  const Taken taken(stopped.tid);
  std::filesystem::remove(path);
  stopped.end();
  const auto stack = sandboxed_.user_stack(stopped.tid, taken.registers, taken.memory);
  EXPECT_THAT(names_to_main(stack), ElementsAre("leaf", "middle", "main"));
  EXPECT_EQ(stack.end, StackEnd::complete);
  EXPECT_EQ(stack, local_.user_stack(stopped.tid, taken.registers, taken.memory));
}

TEST_F(Resolvers, AProcessNobodyKnows) {
  user_registers registers{};
  registers.rip = 0x1234;
  const auto stack = sandboxed_.user_stack(1 << 30, registers, {});
  EXPECT_EQ(stack.end, StackEnd::no_process);
  ASSERT_EQ(stack.frames.size(), 1u);
  EXPECT_EQ(to_text(stack.frames[0]), "[0x1234]");
  EXPECT_EQ(stack.unresolved, 1u);
  EXPECT_EQ(sandboxed_.cost().unknown_processes, 1u);
  const std::uint64_t addresses[] = {1, 2, 3};
  EXPECT_EQ(sandboxed_.raw_user_stack(1 << 30, addresses).frames.size(), 3u);
}

TEST_F(Resolvers, NoNamesWhereNoneAreWanted) {
  SandboxedResolver raw(images_, {.names = false}, {});
  Stopped stopped("stacks", "middle");
  const Taken taken(stopped.tid);
  const auto named = sandboxed_.user_stack(stopped.tid, taken.registers, taken.memory);
  const auto nameless = raw.user_stack(stopped.tid, taken.registers, taken.memory);
  ASSERT_EQ(named.frames.size(), nameless.frames.size());
  for (std::size_t i = 0; i < named.frames.size(); ++i) {
    EXPECT_EQ(nameless.frames[i].name, "");
    EXPECT_EQ(nameless.frames[i].module, named.frames[i].module);
    EXPECT_EQ(nameless.frames[i].build_id, named.frames[i].build_id);
    const auto entry = images_.image_of(stopped.tid)->find(named.frames[i].address);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(nameless.frames[i].offset,
              named.frames[i].address - entry->mapping.start + entry->mapping.file_offset);
  }
  EXPECT_EQ(nameless.unresolved, 0u);
  const std::uint64_t kernel[] = {0xffffffff81000000};
  EXPECT_EQ(raw.kernel_stack(kernel), sandboxed_.kernel_stack(kernel));  // cannot be named later
}

TEST_F(Resolvers, CodeThatACompilerMade) {
  const Shared<std::uint64_t> code;
  overdue::Child child([&](overdue::Child& self) {
    void* made = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *code = reinterpret_cast<std::uint64_t>(made);
    self.step();
    self.step();
  });
  child.run_step();
  const auto pid = static_cast<pid_t>(child.pid());
  const std::string path = fmt::format("/tmp/perf-{}.map", pid);
  std::ofstream(path) << fmt::format("{:x} 10 first made\n", *code);
  const std::uint64_t first[] = {*code + 4}, second[] = {*code + 0x24};
  auto stack = sandboxed_.raw_user_stack(pid, first);
  EXPECT_EQ(to_text(stack.frames[0]), "first made");
  EXPECT_EQ(stack.frames[0].offset, 4u);
  EXPECT_TRUE(stack.frames[0].is_jit);
  EXPECT_EQ(to_text(sandboxed_.raw_user_stack(pid, second).frames[0]), "[anon+0x24]");
  std::ofstream(path, std::ios::app) << fmt::format("{:x} 10 second made\n", *code + 0x20);
  for (int tries = 0; tries < 100; ++tries) {  // the map is read again after a while
    stack = sandboxed_.raw_user_stack(pid, second);
    if (stack.unresolved == 0) break;
    usleep(20'000);
  }
  EXPECT_EQ(to_text(stack.frames[0]), "second made");
  std::filesystem::remove(path);
}

TEST_F(Resolvers, OfKernelStacks) {
  int reads = 0;
  std::string symbols = "ffffffff81000000 T first\nffffffff81000100 T second\n";
  LocalResolver resolver(images_,
                         {.read_kernel_symbols =
                              [&] {
                                ++reads;
                                return KernelSymbols::parse(symbols);
                              }},
                         {});
  const std::uint64_t stack[] = {0xffffffff81000100, 0xffffffff81000100};
  const auto resolved = resolver.kernel_stack(stack);
  ASSERT_EQ(resolved.frames.size(), 2u);
  EXPECT_EQ(to_text(resolved.frames[0]), "second");
  EXPECT_EQ(to_text(resolved.frames[1]), "first");  // a call that never returns
  EXPECT_EQ(resolved.frames[1].offset, 0x100u);
  EXPECT_TRUE(resolved.frames[1].is_kernel);
  EXPECT_EQ(resolver.kernel_stack(stack), resolved);
  EXPECT_EQ(resolver.cost().from_cache, 1u);
  const std::uint64_t unknown[] = {0x1000};
  EXPECT_EQ(resolver.kernel_stack(unknown).unresolved, 1u);
  EXPECT_EQ(reads, 1);  // not for each unknown address
}

TEST_F(Resolvers, TheKernelsListOfFunctionsCanBeReadAhead) {
  std::atomic<int> reads = 0;
  LocalResolver resolver(images_,
                         {.read_kernel_symbols =
                              [&] {
                                ++reads;
                                reads.notify_all();
                                return KernelSymbols::parse("ffffffff81000000 T first\n");
                              }},
                         {});
  resolver.read_ahead();
  reads.wait(0);
  const std::uint64_t stack[] = {0xffffffff81000000};
  EXPECT_EQ(to_text(resolver.kernel_stack(stack).frames.at(0)), "first");
  EXPECT_EQ(reads, 1);
}

/// Reading the list ends once something was done meanwhile, and no sooner.
TEST_F(Resolvers, TheKernelsListOfFunctionsIsNotWaitedForIdly) {
  std::atomic<bool> done = false;
  LocalResolver resolver(images_,
                         {.read_kernel_symbols =
                              [&] {
                                done.wait(false);
                                return KernelSymbols::parse("ffffffff81000000 T first\n");
                              }},
                         {});
  resolver.while_waiting([&] {
    done = true;
    done.notify_all();
  });
  const std::uint64_t stack[] = {0xffffffff81000000};
  EXPECT_EQ(to_text(resolver.kernel_stack(stack).frames.at(0)), "first");
}

TEST_F(Resolvers, AStackThatCameBefore) {
  Stopped stopped("stacks", "middle");
  const Taken taken(stopped.tid);
  std::vector<std::uint64_t> addresses;
  for (const auto& frame : local_.user_stack(stopped.tid, taken.registers, taken.memory).frames)
    addresses.push_back(frame.address);
  const auto first = sandboxed_.raw_user_stack(stopped.tid, addresses);
  EXPECT_EQ(sandboxed_.raw_user_stack(stopped.tid, addresses), first);
  EXPECT_EQ(sandboxed_.cost().from_cache, 1u);
}

/// Cannot fail: prints the cost of a stack.
TEST_F(Resolvers, Cost) {
  Stopped stopped("stacks", "sort");
  const Taken taken(stopped.tid);
  const auto time = [&](const char* what, Resolver& resolver, auto ask) {
    ask(resolver);
    const KernelTime begin = KernelClock::now();
    constexpr int times = 1000;
    for (int i = 0; i < times; ++i) ask(resolver);
    fmt::print("{}: {} a stack\n", what, format_duration((KernelClock::now() - begin) / times));
  };
  const auto user = [&](Resolver& resolver) {
    resolver.user_stack(stopped.tid, taken.registers, taken.memory);
  };
  time("user stack, here", local_, user);
  time("user stack, in the child", sandboxed_, user);
}

}  // namespace
}  // namespace overdue
