#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/finding.h"

namespace overdue {

// What the parts of a finding are called in text. Raw names are made printable.

inline constexpr std::string_view left_out = "…";
inline constexpr std::string_view timeout = "timeout";  ///< what an interrupt may mean

std::string thread_text(const ThreadName& thread);
/// "softirq NET_RX", "disk completion (vda, irq 24 virtio1-req.0)".
std::string interrupt_text(std::string_view means, std::string_view disk, std::string_view context);
/// The functions that say what was waited for, outermost first, the middle left out where there are
/// many.
std::string kernel_path(const Stack& stack);
/// Likewise; without what every program goes through on the way to its own first function, unless
/// there is nothing else.
std::string user_path(const Stack& stack);
/// "stopped by SIGSTOP of kill[12]": what kept a thread from running, if anything did.
std::string stop_text(const Wait& wait);
/// "81 % in crc_block ← flush, 19 % in main (26 samples)"; empty: nothing is known.
std::string cpu_places_text(const CpuPlaces& on_cpu);
/// "by cgroup /shop/api (20ms of each 100ms)".
std::string throttle_text(const std::optional<Throttle>& by);
/// "behind hog[9] 30.1ms, make[88] 12.0ms, others 2.9ms": who had the CPU for `all_ns`, `word` in
/// front. A thread that had nearly all of it is said without a figure. Empty: not known.
std::string shares_text(std::string_view word, const CpuShares& shares, std::uint64_t all_ns);
/// What the thread of a step did otherwise in that time: what took a tenth of it, longest first.
std::string other_parts(const ChainLink& link);
/// What the thread of a step did meanwhile.
std::string link_text(const ChainLink& link);

}  // namespace overdue
