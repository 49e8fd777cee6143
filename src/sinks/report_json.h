#pragma once

#include <vector>

#include "core/session_info.h"
#include "core/sink.h"
#include "sinks/figures.h"
#include "sinks/json_writer.h"

namespace overdue {

/// Parts shared by the JSON and NDJSON sinks. Each writes members into the object that `json` has
/// open. The documents they make up are described by json_schema().

/// "overdue" … "notes": who measured what, where, when.
void write_session(JsonWriter& json, const SessionInfo& info);

/// "by", "wall_ns", the rows under the table's title, "unfinished"; `lost` decides what is
/// complete.
void write_table(JsonWriter& json, const TableFigures& table, std::uint64_t lost);

/// What --discover found: the members of an object.
void write_found(JsonWriter& json, const FoundName& found);

/// "unfinished" alone.
void write_unfinished(JsonWriter& json, const std::vector<OpenSpan>& oldest_first);

/// The members of a receipt.
void write_receipt(JsonWriter& json, const Receipt& receipt);

/// The title of a table that has none: "rows".
std::string_view table_key(const TableFigures& table);

}  // namespace overdue
