#pragma once

#include "bpf/per_cpu.h"
#include "kernel/tracepoint_types.h"

namespace overdue {

/// Where the running kernel has the variables that each CPU has its own of: for programs with
/// bpf/per_cpu.bpf.h.
per_cpu_offsets find_per_cpu_offsets(const TracepointTypes& types);

}  // namespace overdue
