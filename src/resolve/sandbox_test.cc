// What the child may not do, and how the parent handles a child that misbehaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <filesystem>

#include "resolve/resolver_fixture.h"
#include "resolve/sandbox.h"
#include "resolve/sandboxed_resolver.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;
using resolve_test::names_to_main;
using resolve_test::ResolverTest;
using resolve_test::status_of;
using resolve_test::Taken;
using testing::ElementsAre;
using unwind_test::Stopped;

enum Deed : std::uint32_t {
  nothing,
  open_file,
  open_at,
  make_socket,
  trace_parent,
  kill_parent,
  map_code,
  make_code,
  fork_child,
  run_program,
  look_around,
  hang,
  speak_nonsense,
  promise_more,
  use_all_memory,
};

// Runs in the child, under the filter. A system call that is refused without a signal fails the
// test: the child reports it by living on.
void do_deed(std::uint32_t deed) {
  const int connection = 3;
  static char page[8192];
  switch (deed) {
    case open_file:
      syscall(SYS_open, "/etc/passwd", O_RDONLY);
      break;
    case open_at:
      syscall(SYS_openat, AT_FDCWD, ".", O_RDONLY);
      break;
    case make_socket:
      socket(AF_INET, SOCK_STREAM, 0);
      break;
    case trace_parent:
      ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr);
      break;
    case kill_parent:
      kill(1, 0);
      break;
    case map_code:
      mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      break;
    case make_code:
      mprotect(page, 4096, PROT_READ | PROT_EXEC);
      break;
    case fork_child:
      if (fork() == 0) _exit(0);
      break;
    case run_program:
      execl("/bin/true", "true", nullptr);
      break;
    case look_around: {
      struct stat status{};
      syscall(SYS_newfstatat, AT_FDCWD, "/etc", &status, 0);
      break;
    }
    case hang:
      for (volatile bool forever = true; forever;) {
      }
      break;
    case speak_nonsense:
      (void)!write(connection, "nonsense", 8);
      break;
    case promise_more: {  // frames without an end
      auto packet = resolve_message::encode(ResolvedStack{.frames = Stack(500)})[0];
      packet[1] = std::byte{0};
      while (write(connection, packet.data(), packet.size()) > 0) {
      }
      break;
    }
    case use_all_memory:
      for (std::vector<std::vector<char>> all; true;) all.emplace_back(16u << 20, 'x');
    default:
      break;
  }
}

class Sandbox : public ResolverTest {
 protected:
  /// Expects a stack with its names.
  void expect_good_stack() {
    const auto stack = resolver_.user_stack(stopped_.tid, taken_.registers, taken_.memory);
    EXPECT_THAT(names_to_main(stack), ElementsAre("leaf", "middle", "main"));
    EXPECT_EQ(stack.end, StackEnd::complete);
  }

  ProcessImages images_;
  SandboxedResolver resolver_{images_, {}, {.patience = 2s, .probe = do_deed}};
  Stopped stopped_{"stacks", "middle"};
  Taken taken_{stopped_.tid};
};

TEST_F(Sandbox, HasNoRightsAndNothingOpen) {
  expect_good_stack();
  const pid_t child = resolver_.child_pid();
  ASSERT_GT(child, 0);
  for (const char* ids : {"Uid", "Gid"}) {
    const std::string all = status_of(child, ids);
    const auto id = std::stoul(all);
    EXPECT_GE(id, 0x9000'0000u) << "the user may exist";
    EXPECT_EQ(all, fmt::format("{0}\t{0}\t{0}\t{0}", id));
  }
  EXPECT_EQ(status_of(child, "Groups"), "");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    EXPECT_EQ(status_of(child, set), "0000000000000000") << set;
  EXPECT_EQ(status_of(child, "NoNewPrivs"), "1");
  EXPECT_EQ(status_of(child, "Seccomp"), "2");
  const std::string folder = fmt::format("/proc/{}", child);
  EXPECT_THAT(std::filesystem::read_symlink(folder + "/root").string(),
              testing::EndsWith(" (deleted)"));
  EXPECT_EQ(std::filesystem::read_symlink(folder + "/cwd"),
            std::filesystem::read_symlink(folder + "/root"));
  for (const auto& fd : std::filesystem::directory_iterator(folder + "/fd")) {
    const int number = std::stoi(fd.path().filename());
    const auto what = std::filesystem::read_symlink(fd.path()).string();
    if (sandbox::has_sanitizer && number == 2) continue;
    if (number <= 2)
      EXPECT_EQ(what, "/dev/null");
    else if (number == 3)
      EXPECT_THAT(what, testing::StartsWith("socket:"));
    else
      EXPECT_THAT(what, testing::AnyOf(testing::HasSubstr("/stacks"), testing::HasSubstr(".so")));
  }
}

TEST_F(Sandbox, SharesItsUserWithNoOther) {
  SandboxedResolver other(images_, {}, {});
  EXPECT_NE(status_of(resolver_.maker_pid(), "Uid"), status_of(other.maker_pid(), "Uid"));
}

TEST_F(Sandbox, WhatIsNotNeededKills) {
  EXPECT_TRUE(resolver_.probe(nothing));
  for (const Deed deed : {open_file, open_at, make_socket, trace_parent, kill_parent, map_code,
                          make_code, fork_child, run_program, look_around}) {
    EXPECT_FALSE(resolver_.probe(deed)) << deed;
    EXPECT_TRUE(resolver_.probe(nothing));
  }
  EXPECT_EQ(resolver_.sandbox_cost().restarts, 10u);
  EXPECT_EQ(resolver_.sandbox_cost().timeouts, 0u);
  expect_good_stack();
}

TEST_F(Sandbox, WhoWaitsForItDoesOtherThings) {
  unsigned times = 0;
  resolver_.while_waiting([&] { ++times; });
  EXPECT_TRUE(resolver_.probe(nothing));
  const unsigned before = times;
  EXPECT_FALSE(resolver_.probe(hang));
  EXPECT_GT(times, before + 10) << "of a wait of 2 s";
  const unsigned then = times;
  EXPECT_FALSE(resolver_.probe(hang)) << "and with the next child";
  EXPECT_GT(times, then + 10);
}

TEST_F(Sandbox, AChildThatHangsIsReplaced) {
  expect_good_stack();
  const pid_t before = resolver_.child_pid();
  EXPECT_FALSE(resolver_.probe(hang));
  EXPECT_EQ(resolver_.sandbox_cost().timeouts, 1u);
  EXPECT_NE(kill(before, 0), 0);
  expect_good_stack();
  EXPECT_NE(resolver_.child_pid(), before);
}

TEST_F(Sandbox, AStackThatTakesTooLongSaysSo) {
  expect_good_stack();
  ASSERT_GT(resolver_.child_pid(), 0);  // 0 would stop the whole process group
  kill(resolver_.child_pid(), SIGSTOP);
  const auto stack = resolver_.user_stack(stopped_.tid, taken_.registers, taken_.memory);
  EXPECT_EQ(stack.end, StackEnd::failed);
  EXPECT_EQ(to_text(stack.end), "resolver failed");
  ASSERT_EQ(stack.frames.size(), 1u);
  EXPECT_THAT(to_text(stack.frames[0]), testing::MatchesRegex(R"(\[stacks\+0x[0-9a-f]+\])"));
  EXPECT_EQ(resolver_.cost().failed, 1u);
  EXPECT_EQ(resolver_.sandbox_cost().timeouts, 1u);
  expect_good_stack();
}

TEST_F(Sandbox, AChildThatIsKilledIsReplaced) {
  for (int i = 0; i < 3; ++i) {
    expect_good_stack();
    ASSERT_GT(resolver_.child_pid(), 0);
    kill(resolver_.child_pid(), SIGKILL);
  }
  expect_good_stack();
  EXPECT_EQ(resolver_.sandbox_cost().restarts, 3u);
  EXPECT_EQ(resolver_.cost().failed, 0u);
}

TEST_F(Sandbox, WhatATerminalSendsIsNotHeard) {
  expect_good_stack();
  const pid_t child = resolver_.child_pid();
  ASSERT_GT(child, 0);
  EXPECT_NE(getpgid(child), getpgrp());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) kill(child, signal);
  expect_good_stack();
  EXPECT_EQ(resolver_.child_pid(), child);
}

TEST_F(Sandbox, AnswersOfTheChildAreNotBelieved) {
  EXPECT_FALSE(resolver_.probe(speak_nonsense));
  EXPECT_FALSE(resolver_.probe(promise_more));
  EXPECT_EQ(resolver_.sandbox_cost().timeouts, 0u);
  expect_good_stack();
}

TEST_F(Sandbox, MemoryHasABound) {
  if (sandbox::has_sanitizer) GTEST_SKIP() << "a sanitizer reserves more addresses than any limit";
  SandboxedResolver small(images_, {}, {.worker = {.memory_bytes = 256u << 20}, .probe = do_deed});
  EXPECT_FALSE(small.probe(use_all_memory));
  EXPECT_EQ(small.sandbox_cost().restarts, 1u);
  EXPECT_EQ(small.sandbox_cost().timeouts, 0u);
  const auto stack = small.user_stack(stopped_.tid, taken_.registers, taken_.memory);
  EXPECT_EQ(stack.end, StackEnd::complete);
}

TEST_F(Sandbox, AProcessThatIsFatalIsLeftAlone) {
  // Enough time for a child that is not stopped: if a child is slow with a file, the file gets the
  // blame.
  SandboxedResolver resolver(images_, {}, {.patience = 1s});
  unsigned failed = 0;
  for (int i = 0; i < 10; ++i) {
    if (resolver.child_pid() > 0) kill(resolver.child_pid(), SIGSTOP);
    const auto stack = resolver.user_stack(stopped_.tid, taken_.registers, taken_.memory);
    failed += stack.end == StackEnd::failed;
  }
  EXPECT_GE(failed, 5u);
  EXPECT_EQ(resolver.sandbox_cost().timeouts, 2u);  // and not ten times the patience
}

TEST_F(Sandbox, AfterTooManyRestartsThereAreNoMore) {
  SandboxedResolver resolver(images_, {}, {.max_restarts = 2, .probe = do_deed});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(resolver.probe(make_socket));
  EXPECT_EQ(resolver.sandbox_cost().restarts, 3u);
  const auto stack = resolver.user_stack(stopped_.tid, taken_.registers, taken_.memory);
  EXPECT_EQ(stack.end, StackEnd::failed);
}

bool is_gone(pid_t pid) {
  for (int tries = 0; tries < 500; ++tries) {
    const std::string state = status_of(pid, "State");
    if (state == "none" || state.starts_with("Z")) return true;
    usleep(10'000);
  }
  return false;
}

TEST_F(ResolverTest, NobodyOutlivesUs) {
  struct Pids {
    pid_t maker, child;
  };
  const Shared<Pids> pids;
  Child parent([&](Child& self) {
    ProcessImages images;
    SandboxedResolver resolver(images, {}, {.probe = do_deed});
    resolver.probe(nothing);
    *pids = {resolver.maker_pid(), resolver.child_pid()};
    self.step();
  });
  parent.run_step();
  const Pids known = *pids;
  ASSERT_GT(known.child, 0);
  EXPECT_EQ(kill(known.child, 0), 0);
  kill(static_cast<pid_t>(parent.pid()), SIGKILL);
  parent.end();
  EXPECT_TRUE(is_gone(known.maker));
  EXPECT_TRUE(is_gone(known.child));
}

TEST_F(ResolverTest, NobodyOutlivesTheResolver) {
  pid_t child = 0, maker = 0;
  {
    ProcessImages images;
    SandboxedResolver resolver(images, {}, {.probe = do_deed});
    EXPECT_TRUE(resolver.probe(nothing));
    child = resolver.child_pid();
    maker = resolver.maker_pid();
  }
  EXPECT_TRUE(is_gone(child));
  EXPECT_NE(kill(maker, 0), 0);
}

TEST_F(ResolverTest, TheChildNeverSawWhatWeOpened) {
  ProcessImages images;
  SandboxedResolver resolver(images, {}, {.probe = do_deed});
  const Shared<int> secret;  // mapped after the resolver was made
  EXPECT_TRUE(resolver.probe(nothing));
  std::ifstream maps(fmt::format("/proc/{}/maps", resolver.child_pid()));
  const std::string address = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(&*secret));
  // The child may have mapped something of its own there, but nothing that is shared.
  for (std::string line; std::getline(maps, line);)
    EXPECT_FALSE(line.starts_with(address) && line.find(" rw-s ") != std::string::npos) << line;
}

}  // namespace
}  // namespace overdue
