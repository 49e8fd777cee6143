#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "core/latency_table.h"
#include "core/session_info.h"
#include "report/why/cause.h"

namespace overdue {

std::uint64_t session_ns(const SessionInfo& info);
/// So many in the session as `per_second` in a second.
std::uint64_t per_session(std::uint64_t per_second, const SessionInfo& info);

/// How often the threads of each process came back from a handler of a signal, by pid.
std::map<std::uint32_t, std::uint64_t> returns_from_handlers(const LatencyTable& calls);

/// Whether the call only sleeps.
bool is_sleep(std::string_view call);

/// The error of a call that fails each time, since something is used up: a loop that does not look
/// at the error goes round without an end. Empty: the call succeeds, or fails for another reason.
std::string_view shortage_of(const LatencyRow& row);
/// What a call with this error lacks.
Shortage shortage_named(std::string_view error);

}  // namespace overdue
