#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bpf/offcpu.h"

namespace overdue {

/// What a thread that sleeps in a native system call waits for.
wait_reason wait_reason_of_call(std::string_view call);
/// The same by the number of the call.
std::vector<std::uint8_t> wait_reasons_of_calls();

}  // namespace overdue
