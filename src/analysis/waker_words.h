#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/stall_assembler.h"
#include "core/stack.h"

namespace overdue {

/// Whether a soft interrupt that woke a thread ran inside a call of the thread that it met, and for
/// that thread: what a thread sends over loopback is received before its call goes on. `stack` is
/// the waker's, with names.
bool ran_in_own_call(const RawWaker& waker, const Stack& stack);

inline constexpr std::string_view disk_completion = "disk completion",
                                  stopped_by_signal = "stopped";

/// What an interrupt that woke a thread stands for, by the functions it went through: "timeout"
/// (the sleeper's own), "disk completion"; empty where they do not say.
std::string_view interrupt_meaning(const Stack& stack);

/// What kept a thread from running that waits in `stack`, as Wait::means says it.
std::string_view stop_meaning(const Stack& stack);

/// "SIGUSR1", "SIGRTMIN+2", "signal 99".
std::string signal_text(std::uint32_t number);

/// Whether a thread waits in `stack` between the end of a system call and its program. Where it
/// could run, that is where the kernel lets others run before it goes on.
bool is_way_back(const Stack& stack);

}  // namespace overdue
