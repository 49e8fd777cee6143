#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/timerlat.h"

namespace overdue {

/// Silences of a CPU that the CPU's own timer should have ended earlier.
struct CpuSilences {
  std::uint32_t cpu;
  std::vector<timerlat_silence> silences;  ///< in any order
};

/// Finds a stop of all CPUs by hardware, firmware or a hypervisor that overlaps an activation's
/// latency, as noise of kind NOISE_HARDWARE. Nothing if only one CPU was measured.
///
/// One CPU does not suffice: a stop in an interrupt handler, or while interrupts are off for a
/// moment, looks like the CPU's own work. In a stop, all CPUs are silent from about the same moment
/// to about the same moment. CPUs that wait for one lock with interrupts off are silent, too.
/// Therefore at least one CPU has to be ready: at the end of its silence it is idle or in a
/// program's own code, and so did not wait for a lock.
std::optional<timerlat_noise> find_machine_stop(const timerlat_activation& activation,
                                                const std::vector<CpuSilences>& cpus);

}  // namespace overdue
