#pragma once

#include <functional>

#include "core/session_info.h"
#include "sinks/json_writer.h"
#include "sinks/output.h"

namespace overdue {

/// Writes members into the object that is open: what a command reports.
using WriteMembers = std::function<void(JsonWriter&)>;

/// A report that is one JSON object: the session, the members, the receipt.
void write_json_report(Output& output, const SessionInfo& info, const Receipt& receipt,
                       const WriteMembers& members);

/// The end of a report in lines: one with the session and the members, and the receipt.
void write_last_lines(Output& output, const SessionInfo& info, const Receipt& receipt,
                      const WriteMembers& members);

}  // namespace overdue
