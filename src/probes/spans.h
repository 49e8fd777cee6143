#pragma once

#include "kernel/span_probe.h"

namespace overdue {

/// The probes that measure spans alone, in the order of src/probes/CMakeLists.txt.
std::vector<const SpanSource*> span_sources();

/// The source that measures `kind`; null for kinds of no such probe (system calls, waits, user
/// spans).
const SpanSource* span_source(span_kind kind);

}  // namespace overdue
