#include "live/profile_probe_set.h"

#include <memory>

namespace overdue {

void ProfileProbeSet::add_to(Session& session, const Kernel&,
                             const std::vector<std::uint32_t>& cpus) {
  options_.cpus = cpus;
  session.add(std::make_unique<ProfileProbe>(options_, session.membership().maps()));
}

}  // namespace overdue
