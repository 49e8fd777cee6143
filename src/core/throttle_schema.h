#pragma once

#include "bpf/sched.h"
#include "core/schema.h"

namespace overdue {

/// The schema of struct sched_throttle, which precedes records of throttled threads.
extern const Schema sched_throttle_schema;

}  // namespace overdue
