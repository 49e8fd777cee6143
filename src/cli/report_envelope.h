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

/// To standard error: for a report that cannot be written.
void say_receipt(const SessionInfo& info, const Receipt& receipt);

/// Calls `end`, which writes the rest of a report. Where that fails, says the receipt.
void end_report(const SessionInfo& info, const Receipt& receipt, const std::function<void()>& end);

}  // namespace overdue
