#pragma once

#include "bpf/span.h"
#include "core/schema.h"
#include "core/span_kinds.h"

namespace overdue {

/// The schema of all span probes: struct span_record. The probe of a kind says what `subject`,
/// `detail` and `text` are (src/probes/*/kinds.cc).
extern const Schema span_schema;
inline constexpr const Schema* span_schemas[] = {&span_schema};

}  // namespace overdue
