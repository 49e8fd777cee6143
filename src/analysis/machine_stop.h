#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/timerlat.h"

namespace overdue {

/// Silences of a CPU whose own timer should have ended them before.
struct CpuSilences {
  std::uint32_t cpu;
  std::vector<timerlat_silence> silences;  ///< in any order
};

/// When all CPUs were stopped by what is below the kernel, within an activation's latency, as a
/// noise of kind NOISE_HARDWARE; nothing where only one CPU was measured.
///
/// A CPU that was stopped within an interrupt's handler, or where interrupts are off for a moment,
/// cannot tell that from its own doing. All of them can: each was silent from about the same moment
/// to about the same. Locks that they wait for make them so, too, but with interrupts off: whom the
/// end of such a silence finds in a program's own code, or idle, waited for none.
std::optional<timerlat_noise> find_machine_stop(const timerlat_activation& activation,
                                                const std::vector<CpuSilences>& cpus);

}  // namespace overdue
