#pragma once

#include <cstdint>
#include <vector>

namespace overdue {

/// What a thread that sleeps in a native system call waits for: enum wait_reason (bpf/offcpu.h), by
/// number.
std::vector<std::uint8_t> wait_reasons_of_calls();

}  // namespace overdue
