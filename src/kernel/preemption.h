#pragma once

#include <filesystem>

#include "core/preemption.h"
#include "kernel/host.h"

namespace overdue {

/// For x86-64. The model is "unknown" if neither `chosen`, of debugfs, nor uname(2) has it. The
/// bits follow from the release, since BTF lacks them: Linux 6.13 added the lazy flag, which the
/// patches for PREEMPT_RT had before (bits 3 and 4, arch/x86/include/asm/thread_info.h); 6.18 moved
/// both flags to the bits that all architectures share (include/asm-generic/thread_info_tif.h).
Preemption read_preemption(const Host& host = read_host(),
                           const std::filesystem::path& chosen = "/sys/kernel/debug/sched/preempt");

}  // namespace overdue
