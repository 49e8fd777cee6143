#pragma once

#include "bpf/span.h"
#include "bpf/span_sums.h"
#include "core/schema.h"
#include "core/span_kinds.h"

namespace overdue {

/// The schema of all span probes: struct span_record. The probe of a kind says what `subject`,
/// `detail` and `text` are (src/probes/*/kinds.cc).
extern const Schema span_schema;
inline constexpr const Schema* span_schemas[] = {&span_schema};

/// The schema of struct span_sum.
extern const Schema span_sum_schema;

/// The spans of a sum as one span, with what gives them their name and their thread.
span_record span_of(const span_sum& sum);

}  // namespace overdue
