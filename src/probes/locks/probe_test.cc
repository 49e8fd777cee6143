
#include <sys/mman.h>
#include <sys/resource.h>

#include <thread>

#include "probes/span_fixture.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

class LocksProbe : public SpanTest {
 protected:
  LocksProbe() : SpanTest({SPAN_LOCK}) {}
};

/// How often the threads of this process have waited so far (voluntary context switches).
long waits() {
  rusage use{};
  return getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_nvcsw : 0;
}

/// Threads that change one address space all the time: each change takes the address space's lock
/// for writing. They run for half a second, and until they have waited often, which takes longer in
/// a busy emulator.
void fight_over_memory() {
  const auto change = [] {
    const KernelTime end = KernelClock::now() + 500ms, last = end + 20s;
    while (KernelClock::now() < end || (waits() < 200 && KernelClock::now() < last)) {
      constexpr std::size_t size = 1 << 16;
      void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      if (memory == MAP_FAILED || munmap(memory, size) != 0) _exit(1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(change);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LocksProbe, ThreadsFightingOverTheirAddressSpaceWaitForItsSemaphore) {
  Child child([](Child&) { fight_over_memory(); });
  Child bystander([](Child&) { fight_over_memory(); });
  measure(only(child.pid()));
  want(SPAN_LOCK, 1);
  arm();
  child.go();
  bystander.go();
  EXPECT_EQ(child.end(), 0);
  EXPECT_EQ(bystander.end(), 0);
  finish();
  expect_sound();
  const auto writers =
      of(SPAN_LOCK, kernel_.preempt_rt() ? "rwlock or rwsem write" : "rwsem write");
  EXPECT_GE(writers.size(), 20u);
  std::map<u64, int> locks;
  for (const SeenSpan& span : writers) {
    ++locks[span.record.subject];
    EXPECT_GT(span.frames.size(), 3u);
  }
  for (const SeenSpan& span : of(SPAN_LOCK)) {
    EXPECT_EQ(span.record.header.pid, child.pid());
    EXPECT_NE(span.text(), "");
    EXPECT_LT(span.record.latency_ns, 10'000'000'000u);
  }
  // Nearly all waits are for one lock.
  const auto most = std::max_element(
      locks.begin(), locks.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  ASSERT_NE(most, locks.end());
  EXPECT_GE(static_cast<std::size_t>(most->second) * 2, writers.size());
  EXPECT_EQ(receipt().unmatched, 0u);
}

TEST_F(LocksProbe, WaitsArePairedWhateverTheLoad) {
  Child child([](Child&) { fight_over_memory(); });
  measure();
  want(SPAN_LOCK, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  expect_sound();
  EXPECT_FALSE(of(SPAN_LOCK).empty());
  // A program that interrupts itself is not run, so a very small part of the waits loses an end.
  EXPECT_LE(receipt().unmatched, of(SPAN_LOCK).size() / 1'000);
}

}  // namespace
}  // namespace overdue
