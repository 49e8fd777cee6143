#pragma once

#include <vector>

#include "core/session_info.h"
#include "core/sink.h"
#include "sinks/figures.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Parts shared by the JSON and NDJSON sinks. Each function writes members into the open object of
/// `json`. json_schema() describes the documents.

/// "overdue" … "notes": version, command, host, times, target and notes of the session.
void write_session(JsonWriter& json, const SessionInfo& info);

/// "by", "wall_ns", "complete", the rows under the table's title, "unfinished". `lost`, the number
/// of lost calls, decides "complete".
void write_table(JsonWriter& json, const TableFigures& table, std::uint64_t lost);

/// The members of a name that --discover found.
void write_found(JsonWriter& json, const FoundName& found);

/// "unfinished" alone.
void write_unfinished(JsonWriter& json, const std::vector<OpenSpan>& oldest_first);

/// The members of a receipt.
void write_receipt(JsonWriter& json, const Receipt& receipt);

/// The key of a table's rows: the title, or "rows" without a title.
std::string_view table_key(const TableFigures& table);

}  // namespace overdue
