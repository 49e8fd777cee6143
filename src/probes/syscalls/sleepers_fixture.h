#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/time.h"
#include "bpf/syscalls.h"
#include "kernel/child_fixture.h"

// For tests of the calls that are open when a session ends.
namespace overdue {

/// Threads that are in calls most of the time, every second one in ever new short calls, and that
/// note when they return. In memory that the test shares with the child that runs them.
class Sleepers {
 public:
  /// Sleeps of `long_ns`, each thread's longer than the previous thread's by `more_ns`. For ever.
  void sleep(u64 long_ns, u64 more_ns = 0) {
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < threads_.size(); ++i)
      running.emplace_back([=, &thread = threads_[i]] {
        thread.tid = this_tid();
        const timespec time{0, i % 2 ? 1 : static_cast<long>(long_ns + i * more_ns)};
        while (true) {
          syscall(SYS_nanosleep, &time, nullptr);
          thread.returned_ns[thread.returns++ % kept] = KernelClock::now_ns();
        }
      });
    for (std::thread& thread : running) thread.join();
  }
  /// Waits until each thread has returned once.
  void wait() const {
    for (const Thread& thread : threads_)
      while (thread.returns == 0) usleep(1'000);
  }
  /// Expects the sleeps in `opens` that began in a session to be open, and not to be among the
  /// `calls` that ended. Returns their number.
  std::size_t expect_open(const std::vector<syscall_open>& opens,
                          const std::vector<syscall_call>& calls, KernelTime start) const {
    std::size_t listed = 0;
    for (const syscall_open& open : opens) {
      if (open.nr != SYS_nanosleep || open.flags & SYSCALL_OLDER) continue;
      ++listed;
      const u64 end_ns = open.header.time_ns, begin_ns = end_ns - open.age_ns;
      EXPECT_GE(begin_ns, start.time_since_epoch().count());
      EXPECT_TRUE(std::none_of(calls.begin(), calls.end(), [&](const syscall_call& call) {
        return call.header.tid == open.header.tid &&
               call.header.time_ns - call.latency_ns == begin_ns;
      })) << "both open and ended";
      for (const Thread& thread : threads_)
        if (thread.tid == open.header.tid) {
          EXPECT_FALSE(thread.returned_between(begin_ns, end_ns)) << "it had returned";
        }
    }
    return listed;
  }

 private:
  static constexpr std::size_t kept = 1 << 14;  // short calls of most of a second
  struct Thread {
    std::atomic<u32> tid, returns;
    std::array<std::atomic<u64>, kept> returned_ns;

    bool returned_between(u64 begin_ns, u64 end_ns) const {
      return std::any_of(returned_ns.begin(), returned_ns.end(),
                         [&](const auto& at_ns) { return at_ns > begin_ns && at_ns < end_ns; });
    }
  };

  std::array<Thread, 8> threads_;
};

}  // namespace overdue
