#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>

namespace overdue {

/// Workload threads: with a small stack, each on one CPU.

/// Runs `work` in a thread with a small stack. The thread blocks all signals, which are for the
/// thread that handles them. Throws Error.
pthread_t start_thread(std::function<void()> work);

/// Pins the calling thread to `cpu`. Returns 0, or an errno value: EINVAL if there is no such CPU,
/// or the process may not run there.
int pin_to(std::uint32_t cpu);

/// Sleeps until KernelClock reaches `at_ns`.
void sleep_until(std::uint64_t at_ns);

}  // namespace overdue
