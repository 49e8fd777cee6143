#include "live/profile_probe_set.h"

#include <memory>

#include "kernel/features.h"

namespace overdue {

Support ProfileProbeSet::support(const Kernel& kernel) const {
  Support clock = profile_probe.support(kernel);
  if (!clock.yes || options_.event != PROFILE_CPU_CYCLES) return clock;
  Support cycles = kernel.hardware_pmu();
  if (!cycles.yes) cycles.remedy += "; --event cpu-clock needs none";
  return cycles;
}

void ProfileProbeSet::add_to(Session& session, const Kernel&,
                             const std::vector<std::uint32_t>& cpus) {
  options_.cpus = cpus;
  session.add(std::make_unique<ProfileProbe>(options_, session.membership().maps()));
}

}  // namespace overdue
