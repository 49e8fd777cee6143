#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace overdue {

/// The SCHED_FIFO priority that the threads of the kernel's timerlat tracer give themselves. The
/// threads of its osnoise tracer are ordinary threads.
constexpr int priority_of_timerlat = 95;

/// Gives the threads of the kernel's `tracer`, "timerlat" or "osnoise", one on each of `cpus`, a
/// SCHED_FIFO priority, 1 … 99, once all of them exist. Throws Error if they do not appear within
/// two seconds, or if the kernel refuses the priority.
void set_priority_of_tracer(std::string_view tracer, const std::vector<std::uint32_t>& cpus,
                            int priority);

}  // namespace overdue
