#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bpf/syscalls.h"

namespace overdue {

/// Names by number, as strace prints them, of the calls known when Overdue was written; an empty
/// name is a number without a call. Empty for an unknown ABI. Static storage.
std::span<const std::string_view> builtin_names(std::uint16_t abi);

}  // namespace overdue
