#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/error.h"

namespace overdue {

/// Workload threads: with a small stack, each on one CPU.

/// Runs `work` in a thread with a small stack. The thread blocks all signals, which are for the
/// thread that handles them. Throws Error.
pthread_t start_thread(std::function<void()> work);

/// Pins the calling thread to `cpu`. Returns 0, or an errno value: EINVAL if there is no such CPU,
/// or the process may not run there.
int pin_to(std::uint32_t cpu);

/// Why there is no `thread` ("a busy thread") on `cpu`: `code` is an errno value, of pin_to() or of
/// the thread's own. `hint` is for all but a CPU that the process may not use.
Error cannot_run_on(std::uint32_t cpu, int code, std::string_view thread, std::string_view hint);

/// Sleeps until KernelClock reaches `at_ns`.
void sleep_until(std::uint64_t at_ns);

}  // namespace overdue
