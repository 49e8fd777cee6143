#pragma once

#include <cstdint>
#include <span>

#include "bpf/run_cost.h"

struct bpf_object;

namespace overdue {

/// Number and estimated cost of the runs of an object's programs since they were loaded. Not every
/// run is timed (bpf/run_cost.bpf.h).
struct ProgramRuns {
  std::uint64_t runs = 0;
  double ns = 0;
  double target_ns = 0;  ///< part of `ns` in threads of the target
  double variance = 0;   ///< variance of `ns`, in ns squared
};

/// The runs of one program, summed over all CPUs.
ProgramRuns price(std::span<const run_cost> of_cpus);

/// The runs of all programs of a loaded object that count them; zeros if none does.
ProgramRuns program_runs(const bpf_object* object);

/// The kernel's own counts for an object's programs, except iterators, which only we run.
struct KernelAccount {
  std::uint64_t missed = 0;  ///< runs skipped, since the program was running on the CPU
  std::uint64_t runs = 0;    ///< runs while its statistics were on (kernel.bpf_stats_enabled)
  std::uint64_t ns = 0;      ///< time of these runs
};
KernelAccount kernels_account(const bpf_object* object);

}  // namespace overdue
