#pragma once

namespace overdue {

/// The JSON Schema of what `overdue timerlat` says of its CPUs and of what stopped it: members of
/// "$defs", and the line of an interval.
extern const char* const timerlat_definitions;
extern const char* const timerlat_lines;

}  // namespace overdue
