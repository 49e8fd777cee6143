#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/finding.h"

namespace overdue {

// Texts for the parts of a finding. Raw names are made printable.

inline constexpr std::string_view ellipsis = "…";
inline constexpr std::string_view of_timeout = "timeout";  ///< see Waker::means

std::string thread_text(const ThreadName& thread);
/// "softirq NET_RX", "disk completion (vda, irq 24 virtio1-req.0)".
std::string interrupt_text(std::string_view means, std::string_view disk, std::string_view context);
/// The telling functions of a kernel stack, outermost first, without the middle of a long path.
std::string kernel_path(const Stack& stack);
/// The functions of a user stack in the same form, without the functions that every program calls
/// on the way to its own first function, unless there are no others.
std::string user_path(const Stack& stack);
/// "stopped by SIGSTOP of kill[12]", "stopped by a tracer, gdb[12]": reason why the thread did not
/// run; empty: none.
std::string stop_text(const Wait& wait);
/// "81 % in crc_block ← flush, 19 % in main (26 samples)"; empty: unknown.
std::string cpu_places_text(const CpuPlaces& on_cpu);
/// "by cgroup /shop/api (20ms of each 100ms)".
std::string throttle_text(const std::optional<Throttle>& by);
inline constexpr std::string_view by_threads = "by";  ///< the word for threads that preempted

/// "behind hog[9] 30.1ms, make[88] 12.0ms, others 2.9ms": `word`, and the threads that had the CPU
/// in `all_ns`. A thread that had nearly all of the time is named without a time. Empty: unknown.
/// The idle thread preempts no thread: with by_threads, time in which the CPU idled is unknown.
std::string shares_text(std::string_view word, const CpuShares& shares, std::uint64_t all_ns);
/// The other activities of a step's thread that took at least a tenth of the step's window, longest
/// first.
std::string other_parts(const ChainLink& link);
/// The activities of a step's thread in the step's window.
std::string link_text(const ChainLink& link);

}  // namespace overdue
