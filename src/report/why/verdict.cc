#include "report/why/verdict.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"
#include "report/why/blame.h"
#include "report/why/causes.h"
#include "report/why/groups.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

/// Sleeps that a spawned program asked for, if they are longer than all that was late.
std::string sleeps_text(const WhyFigures& figures, const SessionInfo& info) {
  if (info.target.kind != "command" || figures.groups.empty()) return {};
  const auto sleep_ns = [](const OffcpuRow& group) { return group.reason_ns[REASON_SLEEP]; };
  const OffcpuRow& longest = *std::ranges::max_element(figures.groups, {}, sleep_ns);
  if (sleep_ns(longest) <= figures.late_ns || sleep_ns(longest) < figures.threshold_ns) return {};
  return fmt::format(" {} slept for {}, as asked for.", group_name(longest),
                     duration_text(sleep_ns(longest)));
}

/// Waits that may have been for work, if they are longer than all that was late.
std::string perhaps_for_work(const WhyFigures& figures) {
  if (figures.undecided.empty()) return {};
  const WhyCause& longest = figures.undecided.front();
  if (longest.total_ns <= figures.late_ns) return {};
  return fmt::format(" {} waited for {}, perhaps for work: {}.", names_text(longest.who),
                     duration_text(longest.total_ns), longest.cause);
}

/// "longest wait for a lock 800us": an examined one. Empty: no thread waited for another one.
std::string lock_text(std::uint64_t longest_ns, std::uint64_t all_ns, std::uint64_t threshold_ns) {
  if (longest_ns > 0) return "; longest wait for a lock " + duration_text(longest_ns);
  if (all_ns == 0) return "; no wait for a lock";
  return "; longest wait for a lock less than " + duration_text(threshold_ns);
}

std::string all_is_well(const WhyFigures& figures, const WhyFindings& found) {
  std::uint64_t runnable_ns = 0, disk_ns = 0, lock_ns = 0;
  for (const OffcpuRow& group : figures.groups) {
    runnable_ns += group.runnable_ns();
    disk_ns += group.reason_ns[REASON_DISK] + group.reason_ns[REASON_FAULT];
    // Kernel locks are among the other waits.
    for (const wait_reason reason : {REASON_FUTEX, REASON_LOCK, REASON_OTHER})
      lock_ns += group.reason_ns[reason];
  }
  return fmt::format(
      "Nothing {}: the longest delay took {}{}; waits for a CPU {} in all, for disks {}.",
      perhaps_for_work(figures).empty() ? "was late" : "is known to be late",
      found.blame.longest_ns() == 0 ? "less than " + duration_text(figures.threshold_ns)
                                    : duration_text(found.blame.longest_ns()),
      lock_text(found.blame.longest_lock_ns(), lock_ns, figures.threshold_ns),
      duration_text(runnable_ns), duration_text(disk_ns));
}

}  // namespace

std::string verdict_of(const WhyFigures& figures, const WhyFindings& found) {
  if (figures.groups.empty()) return "No thread of the target ran.";
  const std::string besides = perhaps_for_work(figures) + sleeps_text(figures, found.info);
  if (figures.causes.empty()) return all_is_well(figures, found) + besides;
  const WhyCause& first = figures.causes.front();
  std::string who = first.who.empty() ? "" : shown_name(first.who.front());
  if (first.who.size() > 1) who += fmt::format(" and {}", counted(first.who.size() - 1, "other"));
  return fmt::format("{}: {}; {} % of all late time.", who,
                     fmt::format("{} {}", duration_text(first.total_ns), first.cause),
                     percent_of(first.total_ns, figures.late_ns)) +
         besides;
}

}  // namespace overdue
