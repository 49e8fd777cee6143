#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace overdue {

/// Of SCHED_FIFO, which the threads of the kernel's timerlat tracer give themselves; those of its
/// osnoise tracer are ordinary ones.
constexpr int priority_of_timerlat = 95;

/// Gives the threads of the kernel's `tracer`, "timerlat" or "osnoise", one on each of `cpus`, a
/// priority of SCHED_FIFO, 1 … 99, as soon as all of them are there. Throws Error where they do not
/// show within two seconds, or that is refused.
void set_priority_of_tracer(std::string_view tracer, const std::vector<std::uint32_t>& cpus,
                            int priority);

}  // namespace overdue
