#include "source/membership_rules.h"

#include "base/error.h"
#include "kernel/glob.h"

namespace overdue {

MembershipRules rules_for(const TargetSelection& selection, const ResolvedTarget& target,
                          const SpawnedProgram* program) {
  MembershipRules rules;
  rules.all = selection.kind == TargetKind::all;
  rules.follow_children = selection.follow;
  rules.adopt_children = selection.follow && selection.present_children;
  rules.leave_children_out = true;
  rules.pids = target.pids;
  rules.tids = target.tids;
  if (selection.kind == TargetKind::name) {  // the kernel side matches names, now and later
    rules.pids = target.pids_by_program;
    rules.tids.clear();
    for (const std::string& glob : selection.names)
      if (target.pids_by_program.empty() || fits_thread_name(glob))
        rules.name_globs.push_back(glob);
  }
  if (program) rules.gated_pids = {program->pid()};
  for (const CgroupTarget& cgroup : target.cgroups) {
    if (rules.cgroup_hierarchy >= 0 && rules.cgroup_hierarchy != cgroup.hierarchy_id)
      throw Error("the cgroups given are in different hierarchies")
          .hint("measure one hierarchy at a time");
    rules.cgroup_hierarchy = cgroup.hierarchy_id;
    rules.cgroup_ids.push_back(cgroup.id);
  }
  return rules;
}

const CgroupHierarchy* container_hierarchy(const Cgroups& cgroups, int watched) {
  if (watched >= 0) return cgroups.hierarchy(watched);
  const CgroupHierarchy* best = nullptr;
  std::size_t most = 0;
  for (const CgroupHierarchy& hierarchy : cgroups.hierarchies()) {
    if (!hierarchy.can_be_watched()) continue;
    const std::size_t size = cgroup_paths(hierarchy).size();
    if (size > most) {
      most = size;
      best = &hierarchy;
    }
  }
  return best;
}

}  // namespace overdue
