#pragma once

#include <span>
#include <string>

#include "core/schema.h"

namespace overdue {

/// The JSON Schema (draft 2020-12) of every document and NDJSON line that Overdue writes, for
/// `overdue schema`. Describes record types from `records`: their fields, units and help strings.
std::string json_schema(std::span<const Schema* const> records);

}  // namespace overdue
