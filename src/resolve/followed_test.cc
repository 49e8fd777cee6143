// Processes that are followed through kernel events, and are gone when their images are needed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <filesystem>

#include "kernel/mmap_events.h"
#include "resolve/process_images.h"
#include "resolve/resolver_fixture.h"
#include "resolve/sandboxed_resolver.h"

namespace overdue {
namespace {

using resolve_test::ResolverTest;
using testing::HasSubstr;
using unwind_test::fixtures;

class Followed : public ResolverTest {
 protected:
  void drain() {
    news_.drain(KernelClock::now(), [&](const ProcessEvent& event) { images_.handle(event); });
  }
  /// An address near the start of a file's code in a process; 0 if the file is not mapped.
  std::uint64_t address_in(pid_t pid, const std::string& file,
                           KernelTime at = ProcessImages::latest) {
    const auto image = images_.image_of(pid, at);
    if (!image) return 0;
    for (const auto& entry : image->entries())
      if (entry.mapping.path.find(file) != std::string_view::npos) return entry.mapping.start + 64;
    return 0;
  }
  /// Runs a program to its end; returns its pid.
  static pid_t run(const std::string& program) {
    overdue::Child child(
        [&](overdue::Child&) { execl(program.c_str(), program.c_str(), "nothing", nullptr); });
    child.go();
    child.end();
    return static_cast<pid_t>(child.pid());
  }

  ProcessImages images_;
  SandboxedResolver resolver_{images_};
  MmapEvents news_;
};

TEST_F(Followed, AProgramThatHasEnded) {
  const pid_t pid = run(fixtures + "/stacks");
  drain();
  const std::uint64_t address = address_in(pid, "/stacks");
  ASSERT_NE(address, 0u);
  const std::uint64_t stack[] = {address};
  const auto resolved = resolver_.raw_user_stack(pid, stack);
  ASSERT_EQ(resolved.frames.size(), 1u);
  EXPECT_THAT(resolved.frames[0].module, testing::EndsWith("/stacks"));
  EXPECT_EQ(resolved.frames[0].build_id.size(), 40u);
  EXPECT_NE(address_in(pid, "libc.so"), 0u);
  EXPECT_NE(address_in(pid, "[vdso]"), 0u);
  EXPECT_EQ(images_.cost().reads, 0u);
}

// A program usually takes long enough to load that its file can be opened before it ends; this one
// waits until the file is open.
TEST_F(Followed, AProgramThatHasEndedAndWasDeleted) {
  const std::string path = testing::TempDir() + fmt::format("/deleted-{}", getpid());
  std::filesystem::copy_file("/bin/cat", path);
  int input[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  images_.add_target(getpid());  // and its children
  overdue::Child child([&](overdue::Child&) {
    dup2(input[0], 0);
    execl(path.c_str(), path.c_str(), nullptr);
  });
  const auto pid = static_cast<pid_t>(child.pid());
  drain();
  child.go();
  // Not in the read in which the child waited for the test.
  const auto copy = std::filesystem::canonical(path);
  const auto runs_copy = [&] {
    return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid)) == copy;
  };
  for (int tries = 0; tries < 1'000 && !runs_copy(); ++tries) usleep(10'000);
  EXPECT_TRUE(child.wait_until_in(SYS_read));
  drain();
  close(input[1]);
  child.end();
  std::filesystem::remove(path);
  drain();
  const std::uint64_t address[] = {address_in(pid, "/deleted")};
  ASSERT_NE(address[0], 0u);
  const auto resolved = resolver_.raw_user_stack(pid, address);
  EXPECT_EQ(resolved.frames[0].build_id.size(), 40u);
  close(input[0]);
}

TEST_F(Followed, AnExecLeavesWhatWasBefore) {
  overdue::Child child([&](overdue::Child&) { execl("/bin/true", "true", nullptr); });
  const auto pid = static_cast<pid_t>(child.pid());
  drain();
  EXPECT_NE(address_in(pid, "resolver_test"), 0u);  // a fork of this process
  const KernelTime before = KernelClock::now();
  child.go();
  child.end();
  drain();
  EXPECT_EQ(address_in(pid, "resolver_test"), 0u);
  EXPECT_NE(address_in(pid, "/true"), 0u);
  EXPECT_NE(address_in(pid, "resolver_test", before), 0u);
}

TEST_F(Followed, ALibraryThatIsLoadedLater) {
  overdue::Child child([&](overdue::Child& self) {
    self.step();
    dlopen("libutil.so.1", RTLD_NOW);
    self.step();
  });
  const auto pid = static_cast<pid_t>(child.pid());
  child.run_step();
  drain();
  EXPECT_EQ(address_in(pid, "libutil"), 0u);
  child.run_step();
  drain();
  const std::uint64_t address[] = {address_in(pid, "libutil")};
  EXPECT_NE(address[0], 0u);
  EXPECT_THAT(resolver_.raw_user_stack(pid, address).frames[0].module, HasSubstr("libutil"));
}

TEST_F(Followed, ForkedAndGoneBeforeAnybodyAsked) {
  overdue::Child parent([&](overdue::Child& self) {
    self.step();
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
    self.step();
  });
  parent.run_step();
  pid_t forked = 0;
  drain();
  parent.run_step();
  news_.drain(KernelClock::now(), [&](const ProcessEvent& event) {
    if (event.kind == ProcessEvent::Kind::fork &&
        event.parent_pid == static_cast<pid_t>(parent.pid()))
      forked = event.pid;
    images_.handle(event);
  });
  ASSERT_GT(forked, 0);
  EXPECT_NE(kill(forked, 0), 0);
  EXPECT_NE(address_in(forked, "resolver_test"), 0u);
}

}  // namespace
}  // namespace overdue
