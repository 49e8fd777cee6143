#pragma once

namespace overdue {

/// The JSON Schema of the CPUs of `overdue timerlat` and of the activation that stopped the run:
/// members of "$defs", and the line of an interval.
extern const char* const timerlat_definitions;
extern const char* const timerlat_lines;

}  // namespace overdue
