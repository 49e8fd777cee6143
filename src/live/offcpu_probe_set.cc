#include "live/offcpu_probe_set.h"

#include <memory>

#include "kernel/features.h"

namespace overdue {

/// The clock is read at every wake-up: the time in the run queue is exact. (Where quiet_ns is set,
/// the scheduler's own note is read instead for short waits.)
void OffcpuProbeSet::add_to(Session& session, const Kernel& kernel,
                            const std::vector<std::uint32_t>& cpus) {
  membership_ = &session.membership();
  session.add(std::make_unique<SchedProbe>(
      session.membership().maps(), SchedOptions{.keeps_totals = true,
                                                .keeps_idle_totals = options_.idle,
                                                .keeps_cpu_totals = options_.cpus,
                                                .cpus = cpus,
                                                .use_task_work = kernel.task_work().yes,
                                                .use_vectors = kernel.interrupt_vectors().yes,
                                                .use_throttles = kernel.throttles().yes}));
}

void OffcpuProbeSet::poll(KernelTime now, const RecordHandler& handler) {
  if (options_.sockets && now >= sockets_.due())
    sockets_.sample(membership_->members(), false, handler);
}

void OffcpuProbeSet::finish(const RecordHandler& handler) {
  if (options_.sockets) sockets_.sample(membership_->members(), true, handler);
}

/// A wait is an event. The kernel counts the context switches.
std::uint64_t OffcpuProbeSet::events_in(const Record&) const {
  return 0;
}

}  // namespace overdue
