#include "report/why/short_waits.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "report/why/groups.h"
#include "report/why/known_waits.h"
#include "sinks/text_format.h"
#include "syscalls/wait_reasons.h"

namespace overdue {
namespace {

constexpr std::uint64_t least_share = 100;  // a cause takes 1/100 of the session

/// The call of the process that may have waited for a disk, with the longest time in total.
const LatencyRow* longest_call_of(const LatencyTable& calls, std::uint32_t pid) {
  static const std::vector<std::uint8_t> reasons = wait_reasons_of_calls();
  const LatencyRow* longest = nullptr;
  for (const LatencyRow& row : calls.rows) {
    if (pid != 0 && row.process && row.process->pid != pid) continue;
    const unsigned reason = row.id < reasons.size() ? reasons[row.id] : unsigned{REASON_OTHER};
    if (reason != REASON_OTHER && reason != REASON_INPUT && reason != REASON_OUTPUT) continue;
    if (!longest || row.latency.total_ns() > longest->latency.total_ns()) longest = &row;
  }
  return longest;
}

/// Whether the cause has long waits for this reason.
bool is_of(const WhyCause& cause, wait_reason reason) {
  if (cause.kind != why_blocked) return false;
  const std::string_view text = cause.cause;
  if (reason == REASON_STOPPED) return text.starts_with("stopped");
  const bool is_fault = text.find("page fault") != std::string_view::npos;
  return text.starts_with("disk") && is_fault == (reason == REASON_FAULT);
}

/// Adds `short_ns` to the cause: the part of each group's `all`, whose sum is `sum_ns`.
void add_to(WhyCause& cause, const std::vector<WhyName>& all, std::uint64_t short_ns,
            std::uint64_t sum_ns) {
  cause.total_ns += short_ns;
  for (WhyName more : all) {
    more.ns = part_of(more.ns, short_ns, sum_ns);
    const auto same = std::ranges::find_if(cause.who, [&](const WhyName& one) {
      return one.name == more.name || one.name.starts_with(more.name + "[");
    });
    if (same == cause.who.end())
      cause.who.push_back(std::move(more));
    else
      same->ns += more.ns;
  }
}

/// The text about a thread that is still stopped, and what stopped the thread, if known.
std::string stopped_text(const WhyFindings& found, const OffcpuRow& thread) {
  const auto side = std::ranges::find(found.sides, thread.tid, &OtherSide::tid);
  return "stopped, and not continued" + (side == found.sides.end() ? "" : "; " + side->words);
}

/// The text of a cause that has short waits alone; `pid`: of the process with most of them.
WhyCause cause_of_short(const WhyFindings& found, wait_reason reason, std::uint32_t pid) {
  WhyCause cause{.kind = why_blocked};
  const std::string threshold = duration_text(found.threshold_ns);
  const auto stopped = std::ranges::find_if(found.threads, is_still_stopped);
  if (reason == REASON_STOPPED && stopped != found.threads.end()) {
    cause.kind = why_open;
    cause.cause = stopped_text(found, *stopped);
  } else if (reason == REASON_STOPPED) {
    cause.cause = fmt::format("stopped or traced, each time for less than {}", threshold);
  } else if (reason == REASON_FAULT) {
    cause.cause = fmt::format("disk: page faults, each shorter than {}", threshold);
  } else if (const LatencyRow* call = longest_call_of(found.calls, pid)) {
    const std::uint64_t count = std::max<std::uint64_t>(1, call->latency.count());
    cause.cause = fmt::format("disk: {} {} times, {} each", printable(call->name), grouped(count),
                              duration_text(call->latency.total_ns() / count));
    cause.count = count;
    cause.max_ns = call->latency.max_ns();
  } else {
    cause.cause = fmt::format("disk: waits shorter than {}", threshold);
  }
  return cause;
}

}  // namespace

bool is_still_stopped(const OffcpuRow& thread) {
  return thread.reason_ns[REASON_STOPPED] > thread.wall_ns / 2 &&
         thread.open_ns > thread.wall_ns / 2;
}

void add_short_waits(const WhyFindings& found, WhyFigures& figures, wait_reason reason,
                     std::uint64_t blamed_ns) {
  std::vector<WhyName> who;
  std::uint64_t sum_ns = 0, longest_ns = 0;
  std::uint32_t pid = 0;
  for (const OffcpuRow& group : figures.groups) {
    const std::uint64_t ns = group.reason_ns[reason];
    if (ns == 0) continue;
    sum_ns += ns;
    who.push_back(named(group, ns));
    if (ns > longest_ns) pid = group.pid;
    longest_ns = std::max(longest_ns, ns);
  }
  const std::uint64_t short_ns = sum_ns - std::min(sum_ns, blamed_ns);
  if (short_ns < sum_ns / 4 ||
      !is_much_of(static_cast<std::uint64_t>(found.info.duration.count()), short_ns))
    return;
  std::ranges::sort(who, std::ranges::greater(), &WhyName::ns);
  const auto long_one = std::ranges::find_if(
      figures.causes, [&](const WhyCause& cause) { return is_of(cause, reason); });
  if (long_one != figures.causes.end()) return add_to(*long_one, who, short_ns, sum_ns);
  WhyCause cause = cause_of_short(found, reason, pid);
  cause.total_ns = short_ns;
  cause.who = std::move(who);
  figures.causes.push_back(std::move(cause));
}

bool add_reclaim(WhyFigures& figures, const OffcpuRow& group, std::string_view work,
                 std::uint64_t ns) {
  if (work != cgroup_reclaim) return false;
  const auto waits = std::ranges::find_if(figures.causes, [&](const WhyCause& cause) {
    return cause.kind == why_blocked && cause.cause.starts_with(cgroup_reclaim) && cause.example &&
           cause.example->thread.pid == group.pid;
  });
  if (waits == figures.causes.end()) return false;
  add_to(*waits, {named(group, ns)}, ns, ns);
  waits->parts.of(ShareKind::oncpu).ns += ns;
  return true;
}

bool is_much_of(std::uint64_t duration_ns, std::uint64_t ns) {
  return ns > 0 && ns >= duration_ns / least_share;
}

WhyName named(const OffcpuRow& group, std::uint64_t ns) {
  return {.name = group_name(group), .count = group.threads, .ns = ns};
}

std::uint64_t part_of(std::uint64_t ns, std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? 0
             : static_cast<std::uint64_t>(static_cast<double>(ns) * static_cast<double>(part) /
                                          static_cast<double>(whole));
}

}  // namespace overdue
