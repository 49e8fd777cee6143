#include "live/app_timers_probe_set.h"

#include <fmt/format.h>

#include "kernel/features.h"

namespace overdue {

void AppTimersProbeSet::add_to(Session& session, const Kernel& kernel,
                               const std::vector<std::uint32_t>& cpus) {
  options_.cpus = cpus;
  options_.use_throttles = kernel.throttles().yes;
  options_.hears_of_queues = options_.use_throttles && !kernel.marks_throttled();
  auto probe = std::make_unique<AppTimersProbe>(session.membership().maps(), options_);
  probe_ = probe.get();
  session.add(std::move(probe));
}

std::vector<std::string> AppTimersProbeSet::notes() const {
  std::vector<std::string> notes;
  if (const std::uint64_t count = probe_->slept_again())
    notes.push_back(fmt::format(
        "{} wake-up{} by a timer, after which the thread slept again before its call returned, {} "
        "not counted",
        count, count == 1 ? "" : "s", count == 1 ? "is" : "are"));
  return notes;
}

}  // namespace overdue
