#include "kernel/run_queues.h"

#include <cstring>
#include <string>

#include "kernel/membership.h"
#include "kernel/skeleton.h"

#include "run_queues.skel.h"

namespace overdue {

std::vector<queued_task> queued_tasks(bool sleepers) {
  Skeleton<run_queues_bpf> skeleton("run_queues");
  skeleton->rodata->lists_sleepers = sleepers;
  skeleton.load();
  const std::string bytes = run_iterator(bpf_program__fd(skeleton->progs.list_queued),
                                         "list the threads of the run queues");
  std::vector<queued_task> tasks(bytes.size() / sizeof(queued_task));
  if (!tasks.empty()) std::memcpy(tasks.data(), bytes.data(), tasks.size() * sizeof(queued_task));
  return tasks;
}

}  // namespace overdue
