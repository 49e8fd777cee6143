#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/session_info.h"

namespace overdue {

/// The command that shows more of a cause of `kind`, ready to paste: with the target of the
/// session. `call`: the late or frequent system call, or a kind of span; empty: none. `max_ns`:
/// longest late time.
std::string next_command(std::string_view kind, std::string_view call, std::uint64_t max_ns,
                         const SessionInfo& info);

}  // namespace overdue
