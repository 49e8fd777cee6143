#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>

namespace overdue {

/// Threads of ours that measure: small, and on one CPU.

/// Runs `work` in a thread with a small stack, and without signals: those are for the thread that
/// acts on them. Throws Error.
pthread_t start_thread(std::function<void()> work);

/// Lets the calling thread run on `cpu` only. Returns 0, or an errno value: EINVAL where there is
/// no such CPU, or the process may not run there.
int pin_to(std::uint32_t cpu);

/// Sleeps until KernelClock is there.
void sleep_until(std::uint64_t at_ns);

}  // namespace overdue
