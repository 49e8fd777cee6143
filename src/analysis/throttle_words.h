#pragma once

#include "bpf/sched.h"
#include "core/finding.h"

namespace overdue {

/// Whose limit a record is of.
Throttle throttle_in(const sched_throttle& raw);

}  // namespace overdue
