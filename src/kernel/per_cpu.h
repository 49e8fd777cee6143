#pragma once

#include "bpf/per_cpu.h"
#include "kernel/tracepoint_types.h"

namespace overdue {

/// The offsets of per-CPU variables of the running kernel, for programs with bpf/per_cpu.bpf.h.
per_cpu_offsets find_per_cpu_offsets(const TracepointTypes& types);

}  // namespace overdue
