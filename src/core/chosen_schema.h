#pragma once

#include "bpf/latencies.h"
#include "core/schema.h"

namespace overdue {

/// The schema of struct chosen_threshold.
extern const Schema chosen_threshold_schema;

}  // namespace overdue
