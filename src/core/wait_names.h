#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace overdue {

/// "sleeping", "uninterruptible", "preempted", "throttled", "unknown", "other".
std::string_view wait_state_name(std::uint32_t state);

/// What woke a thread: "thread", "softirq NET_RX", "irq 24 virtio1-req.0", "vector local_timer".
/// `context`: enum waker_context; `irq_name`: raw, empty if it is not known.
std::string waker_name(std::uint32_t context, std::uint32_t number, std::string_view irq_name);

}  // namespace overdue
