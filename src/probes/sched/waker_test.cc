// The reported waker of a thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "probes/sched/probe_fixture.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

class Wakers : public KernelTest {};

/// Threads that serve devices' interrupts, by number: `irq/24-virtio0`.
std::map<u32, std::string> interrupt_threads() {
  std::map<u32, std::string> threads;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string number = process.path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string comm;
    std::getline(std::ifstream(process.path() / "comm"), comm);
    if (comm.starts_with("irq/")) threads.emplace(std::stoul(number), comm);
  }
  return threads;
}

/// Reads a file that is not in memory, so that disks raise interrupts if the machine has such
/// disks.
void bother_disk() {
  const Fd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  std::string bytes(1 << 20, '\0');
  for (int n = 0; n < 10; ++n) {
    posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    EXPECT_GT(pread(file.get(), bytes.data(), bytes.size(), 0), 0);
    usleep(5'000);
  }
}

TEST_F(Wakers, OfAnInterruptsThreadIsTheInterrupt) {
  const std::map<u32, std::string> threads = interrupt_threads();
  Child child([](Child&) { bother_disk(); });
  Explaining measuring({child.pid()}, 8us);
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  int woken = 0;
  const Explained seen = measuring.finish();
  for (const SeenWait& wait : seen.waits) {
    const auto thread = threads.find(wait.fixed.header.tid);
    // These threads also wait for locks that threads release, but not in an interruptible state.
    if (thread == threads.end() || wait.fixed.state != WAIT_SLEEPING) continue;
    const SeenWake* const wake = seen.wake_of(wait);
    if (!wake) continue;
    ++woken;
    EXPECT_EQ(wake->fixed.context, WAKER_IRQ) << thread->second;
    EXPECT_THAT(thread->second, testing::StartsWith(fmt::format("irq/{}-", wake->fixed.number)));
    EXPECT_STRNE(wake->fixed.irq_name, "") << thread->second;
  }
  if (woken == 0) GTEST_SKIP() << "no device of this machine has its interrupts served by a thread";
}

}  // namespace
}  // namespace overdue
