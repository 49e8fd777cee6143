#pragma once

#include <cstdint>
#include <span>

#include "bpf/run_cost.h"

struct bpf_object;

namespace overdue {

/// How often an object's programs have run since they were loaded, and what that took. Not every
/// run is timed (bpf/run_cost.bpf.h).
struct ProgramRuns {
  std::uint64_t runs = 0;
  double ns = 0;
  double target_ns = 0;  ///< of that, in threads of the target
  double variance = 0;   ///< of `ns`, in ns squared
};

/// Of one program, from all CPUs.
ProgramRuns price(std::span<const run_cost> of_cpus);

/// Of all of a loaded object's programs that count their runs; nothing of an object without.
ProgramRuns program_runs(const bpf_object* object);

/// What the kernel says of an object's programs, but for iterators, which run for us alone.
struct KernelAccount {
  std::uint64_t missed = 0;  ///< runs left out, since the same program ran on that CPU already
  std::uint64_t runs = 0;    ///< while its statistics were on (kernel.bpf_stats_enabled)
  std::uint64_t ns = 0;      ///< what those took
};
KernelAccount kernels_account(const bpf_object* object);

}  // namespace overdue
