#pragma once

namespace overdue {

/// The JSON Schema of a finding and its parts (write_finding()): members of "$defs", and the lines
/// of a stream that refer to them.
extern const char* const finding_definitions;
extern const char* const finding_lines;

}  // namespace overdue
