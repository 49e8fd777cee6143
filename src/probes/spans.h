#pragma once

#include "kernel/span_probe.h"

namespace overdue {

/// The probes with span kinds of their own, in the order of src/probes/CMakeLists.txt.
std::span<const SpanSource* const> span_sources();

/// The source that measures `kind`; null for kinds of no such probe (system calls, waits, user
/// spans).
const SpanSource* span_source(span_kind kind);

}  // namespace overdue
