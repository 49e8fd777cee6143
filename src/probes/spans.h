#pragma once

#include "kernel/span_probe.h"

namespace overdue {

/// The probes that have spans of their own, in the order of src/probes/CMakeLists.txt.
std::span<const SpanSource* const> span_sources();

/// The one that measures `kind`, or null: of no such probe (system calls, waits, user's own).
const SpanSource* span_source(span_kind kind);

}  // namespace overdue
