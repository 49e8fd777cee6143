#pragma once

#include "kernel/membership.h"
#include "target/cgroups.h"
#include "target/selection.h"
#include "target/spawn.h"

namespace overdue {

/// What the kernel side must know to tell the target's threads. `program`: the one that was started
/// for the measurement, or null. Throws Error for cgroups of different hierarchies.
MembershipRules rules_for(const TargetSelection& selection, const ResolvedTarget& target,
                          const SpawnedProgram* program);

/// The hierarchy whose paths name containers: the one with id `watched`, if not negative; else
/// version 2 where it is used, else a controller every container has. Null where there is none.
const CgroupHierarchy* container_hierarchy(const Cgroups& cgroups, int watched);

}  // namespace overdue
