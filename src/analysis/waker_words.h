#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/stall_assembler.h"
#include "core/stack.h"

namespace overdue {

/// Whether a softirq that woke a thread ran within a call of the interrupted thread, and on behalf
/// of that call: data that a thread sends over loopback is received before the call goes on.
/// `stack` is the waker's stack, with names.
bool ran_in_own_call(const RawWaker& waker, const Stack& stack);

inline constexpr std::string_view disk_completion = "disk completion",
                                  stopped_by_signal = "stopped", stopped_by_tracer = "traced";

/// Meaning of an interrupt that woke a thread, by the functions in its stack: "timeout" (the
/// sleeper's own), "disk completion"; empty: unknown.
std::string_view interrupt_meaning(const Stack& stack);

/// Whether a thread with this stack does the work that an interrupt left to it: with PREEMPT_RT,
/// the work of nearly all devices.
bool is_interrupt_thread(const Stack& stack);

/// Reason why a thread that waits in `stack` does not run, as in Wait::means. `waker`: the stack of
/// the thread that ended the wait.
std::string_view stop_meaning(const Stack& stack, const Stack& waker);

/// Whether a thread that waits in `stack` is woken by a signal, and waits for something else: the
/// call waits on, or is to be made again, and its sender is not what the thread waits for. `waker`:
/// the stack of the thread that ended the wait.
bool is_interrupted(const Stack& stack, const Stack& waker);

/// "SIGUSR1", "SIGRTMIN+2", "signal 99".
std::string signal_text(std::uint32_t number);

/// Whether a thread with this stack waits after the end of a system call, on the way back to its
/// program. A runnable thread waits there if the kernel lets other threads run first.
bool is_way_back(const Stack& stack);

}  // namespace overdue
