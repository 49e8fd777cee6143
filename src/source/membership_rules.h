#pragma once

#include "kernel/membership.h"
#include "target/cgroups.h"
#include "target/selection.h"
#include "target/spawn.h"

namespace overdue {

/// The rules by which the kernel side recognises threads of the target. `program`: the program
/// spawned for the measurement, or null. Throws Error for cgroups of different hierarchies.
MembershipRules rules_for(const TargetSelection& selection, const ResolvedTarget& target,
                          const SpawnedProgram* program);

/// The hierarchy whose paths name containers: the one with id `watched`, if not negative; else, of
/// those that can be watched, the one with the most cgroups. Null if there is none.
const CgroupHierarchy* container_hierarchy(const Cgroups& cgroups, int watched);

}  // namespace overdue
