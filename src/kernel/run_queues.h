#pragma once

#include <vector>

#include "kernel/run_queues_wire.h"

namespace overdue {

/// The runnable threads of the machine at this moment; with `sleepers`, all threads. In no order,
/// one thread after the other: a thread that moves meanwhile may be missing, or have moved. Needs
/// CAP_BPF and CAP_PERFMON. Throws Error.
std::vector<queued_task> queued_tasks(bool sleepers);

}  // namespace overdue
