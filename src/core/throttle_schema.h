#pragma once

#include "bpf/sched.h"
#include "core/schema.h"

namespace overdue {

/// What probes write in front of records of threads that a limit has kept: struct sched_throttle.
extern const Schema sched_throttle_schema;

}  // namespace overdue
