#pragma once

#include <functional>

#include "core/session_info.h"
#include "sinks/json_writer.h"
#include "sinks/output.h"

namespace overdue {

/// Writes the report of a command as members of the open object.
using WriteMembers = std::function<void(JsonWriter&)>;

/// Writes a report as one JSON object: the session, the members, the receipt.
void write_json_report(Output& output, const SessionInfo& info, const Receipt& receipt,
                       const WriteMembers& members);

/// Writes the last two lines of a report in lines: the session with the members, and the receipt.
void write_last_lines(Output& output, const SessionInfo& info, const Receipt& receipt,
                      const WriteMembers& members);

}  // namespace overdue
