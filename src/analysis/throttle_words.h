#pragma once

#include "bpf/sched.h"
#include "core/finding.h"

namespace overdue {

/// The quota or limit of a throttle record, and its cgroup.
Throttle throttle_in(const sched_throttle& raw);

}  // namespace overdue
