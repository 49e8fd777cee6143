#include "report/why/figures.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "core/span_kinds.h"
#include "report/why/call_causes.h"
#include "report/why/call_sums.h"
#include "report/why/cpu_waits.h"
#include "report/why/groups.h"
#include "report/why/known_waits.h"
#include "report/why/next_command.h"
#include "report/why/own_io.h"
#include "report/why/root.h"
#include "report/why/short_waits.h"
#include "report/why/verdict.h"
#include "sinks/text_format.h"
#include "syscalls/wait_reasons.h"

namespace overdue {
namespace {

constexpr std::size_t functions_named = 3;           // of one cause
constexpr std::uint64_t many_threads = 10;           // of many processes with one name
constexpr std::uint64_t least_longest = 20'000'000;  // ns, or its longest wait is as long as this
constexpr std::uint64_t busy_share = 20;             // a busy group has 1/20 of a CPU
constexpr std::size_t commands_named = 3;
constexpr std::uint64_t least_samples = 10;  // of a group, for a list of its functions
constexpr std::size_t functions_kept = 20, disks_kept = 20;

/// "70 % in spin ← main, 20 % in flush".
std::string functions_text(const std::vector<WhyFunction>& functions) {
  std::vector<std::string> said;
  for (const WhyFunction& one : functions) {
    if (said.size() == functions_named || (one.share() < 0.1 && !said.empty())) break;
    if (!one.function.empty())
      said.push_back(fmt::format("{:.0f} % in {}", 100 * one.share(), shown_function(one)));
  }
  return fmt::format("{}", fmt::join(said, ", "));
}

/// The call, or the kind of span, with which the next command shows more of the cause.
std::string_view operation_of(const WhyCause& cause) {
  if (!cause.example) return {};
  if (cause.example->span == span_name(SPAN_SYSCALL)) return cause.example->name;
  return is_answer(*cause.example) ? cause.example->span : "";
}

/// " in 1,035 threads, 1.6 ms each", for many processes with one name.
std::string many_text(const OffcpuRow& group) {
  if (group.pid != 0 || group.threads < many_threads) return {};
  return fmt::format(" in {} threads, {} each", grouped(group.threads),
                     duration_text(group.oncpu_ns / group.threads));
}

void add_names(std::vector<WhyName>& names, const std::vector<WhyName>& more) {
  for (const WhyName& one : more) {
    const auto known = std::ranges::find(names, one.name, &WhyName::name);
    if (known == names.end()) {
      names.push_back(one);
    } else {
      known->count += one.count;
      known->ns += one.ns;
    }
  }
  std::ranges::sort(names, std::ranges::greater(), &WhyName::ns);
}

/// Adds up two rows with one text.
void add_to(WhyCause& cause, const WhyCause& more) {
  cause.count += more.count;
  cause.total_ns += more.total_ns;
  cause.max_ns = std::max(cause.max_ns, more.max_ns);
  add_names(cause.who, more.who);
  add_names(cause.by, more.by);
  cause.idle_ns += more.idle_ns;
  cause.parts.merge(more.parts);
}

class Builder {
 public:
  explicit Builder(const WhyFindings& found)
      : found_(found), duration_ns_(static_cast<std::uint64_t>(found.info.duration.count())) {}

  WhyFigures build() {
    figures_.threshold_ns = found_.threshold_ns;
    figures_.groups = groups_of(found_.threads);
    BlameTable::Blocked blocked = found_.blame.blocked(found_.sampling, found_.of_interval);
    figures_.causes = std::move(blocked.causes);
    leave_out_idle();
    add_own_io(found_, figures_);
    add_short_waits(found_, figures_, REASON_DISK, blocked.disk_ns);
    add_short_waits(found_, figures_, REASON_FAULT, blocked.fault_ns);
    add_short_waits(found_, figures_, REASON_STOPPED, blocked.stopped_ns);
    ran_ns_ = std::move(blocked.ran_ns);
    add_cpu_waits(found_, figures_);
    add_kernel_work();
    add_calls();
    add_on_cpu();
    name_lock_holders();
    name_other_sides();
    name_late_for_safepoint();
    name_limits();
    name_memory_limits();
    figures_.disks = found_.disks.all();
    for (std::vector<WhyCause>* causes : {&figures_.causes, &figures_.undecided})
      for (WhyCause& cause : *causes) {
        name_disk_users(cause, figures_.disks, found_.disk_limits, found_.disk_writers);
        name_other_ends(cause, found_.other_ends);
      }
    if (figures_.disks.size() > disks_kept) figures_.disks.resize(disks_kept);
    figures_.oncpu = found_.cpu.all();
    std::erase_if(figures_.oncpu, [](const WhyFunction& one) { return one.of < least_samples; });
    if (figures_.oncpu.size() > functions_kept) figures_.oncpu.resize(functions_kept);
    rank();
    figures_.verdict = verdict_of(figures_, found_);
    return std::move(figures_);
  }

 private:
  bool is_idle(const WhyCause& cause) const;
  void leave_out_idle();
  void add_kernel_work();
  std::uint64_t waits_in(const CallCause& calls) const;
  void add_calls();
  void add_on_cpu();
  void name_lock_holders();
  void name_other_sides();
  void name_late_for_safepoint();
  void name_limits();
  void name_memory_limits();
  std::set<std::uint32_t> processes_of(const WhyCause& cause) const;
  void rank();
  void sort_groups();
  bool is_much(std::uint64_t ns) const { return is_much_of(duration_ns_, ns); }

  const WhyFindings& found_;
  std::uint64_t duration_ns_;
  WhyFigures figures_;
  /// CPU time that other causes than "on the CPU" have, by pid: all of it, and that within calls.
  std::map<std::uint32_t, std::uint64_t> booked_ns_, booked_in_calls_ns_;
  /// The work of the kernel among these causes.
  std::map<CpuFunctions::Key, std::vector<CpuFunctions::Work>> booked_work_;
  std::map<std::string, std::uint64_t> ran_ns_;  ///< CPU time within other causes, by name
};

/// Threads that do nothing but wait for others and for input, at most with a timeout, wait for
/// work.
bool Builder::is_idle(const WhyCause& cause) const {
  if (!cause.may_be_idle) return false;
  std::uint64_t wall_ns = 0, waited_ns = 0, oncpu_ns = 0;
  for (const OffcpuRow& thread : found_.threads) {
    if (!cause.waiters.contains(thread.tid)) continue;
    wall_ns += thread.wall_ns;
    oncpu_ns += thread.oncpu_ns;
    for (const wait_reason reason : {REASON_FUTEX, REASON_INPUT, REASON_EVENTS})
      waited_ns += thread.reason_ns[reason];
  }
  return waited_ns >= wall_ns / 100 * 95 && oncpu_ns <= wall_ns / 100;
}

/// What may have waited for work is no cause, but has a list of its own.
void Builder::leave_out_idle() {
  std::vector<WhyCause>& undecided = figures_.undecided;
  if (!found_.of_interval) undecided = found_.undecided.blocked(found_.sampling).causes;
  std::erase_if(figures_.causes, [&](WhyCause& cause) {
    if (!is_idle(cause)) return false;
    const auto same = std::ranges::find(undecided, cause.cause, &WhyCause::cause);
    if (same == undecided.end())
      undecided.push_back(std::move(cause));
    else
      add_to(*same, cause);
    return true;
  });
  std::erase_if(undecided, [&](const WhyCause& wait) { return !is_much(wait.total_ns); });
  std::ranges::sort(undecided, std::ranges::greater(), &WhyCause::total_ns);
  if (undecided.size() > found_.causes_max) undecided.resize(found_.causes_max);
}

/// What the kernel did for the threads on the CPU: memory that they reclaimed, page faults, forks.
void Builder::add_kernel_work() {
  const std::map<std::uint32_t, std::uint64_t> returns = returns_from_handlers(found_.calls);
  for (const OffcpuRow& group : figures_.groups)
    for (const CpuFunctions::Work& work : found_.cpu.works_of({group.pid, group.comm}, returns)) {
      if (work.samples < least_samples || work.samples * 100 < work.of * work.least_percent)
        continue;
      const std::uint64_t ns = part_of(group.oncpu_ns, work.samples, work.of);
      if (!is_much(ns) || (work.least_percent > 0 && ns < duration_ns_ / busy_share)) continue;
      booked_ns_[group.pid] += ns;
      booked_in_calls_ns_[group.pid] += part_of(ns, work.in_calls, work.samples);
      booked_work_[{group.pid, group.comm}].push_back(work);
      if (add_reclaim(figures_, group, work.name, ns)) continue;
      const std::string where = functions_text(work.functions);
      figures_.causes.push_back(
          {.cause = fmt::format("{}, on the CPU{}{}", work.name, where.empty() ? "" : ": ", where),
           .kind = why_cpu,
           .count = work.samples,
           .total_ns = ns,
           .who = {named(group, ns)},
           .next =
               next_command(why_cpu, is_interrupt_work(work.name) ? "softirq" : "", 0, found_.info),
           .pid = group.pid,
           .comm = without_numbers(group.comm)});
      figures_.causes.back().parts.of(ShareKind::oncpu).ns = ns;
    }
}

/// Time at most in which the calls of the cause, which wait, had no CPU. Which of its calls a
/// process was in when it waited for a CPU is not known.
std::uint64_t Builder::waits_in(const CallCause& calls) const {
  std::uint64_t waited_ns = 0, runnable_ns = 0;
  const wait_reason reason = wait_reason_of_call(calls.call);
  for (const OffcpuRow& thread : found_.threads) {
    if (thread.pid != calls.pid) continue;
    waited_ns += thread.reason_ns[reason];
    runnable_ns += thread.runqueue_ns + thread.preempted_ns;
  }
  return waited_ns < calls.cause.total_ns / 10 ? 0 : waited_ns + runnable_ns;
}

/// Only the calls' time on the CPU: their waits are other causes.
void Builder::add_calls() {
  std::map<std::uint32_t, std::uint64_t> calls_ns, oncpu_ns;
  for (const OffcpuRow& thread : found_.threads) oncpu_ns[thread.pid] += thread.oncpu_ns;
  for (CallCause& one : many_calls(found_.calls, found_.info)) {
    if (const std::uint64_t waits_ns = one.is_whole_process ? 0 : waits_in(one); waits_ns > 0) {
      one.cause.total_ns -= std::min(waits_ns, one.cause.total_ns);
      if (!is_much(one.cause.total_ns)) continue;
    }
    if (const auto found = oncpu_ns.find(one.pid); found != oncpu_ns.end())
      one.cause.total_ns = std::min(one.cause.total_ns, found->second);
    // The calls of a process never have more CPU time than the process.
    one.cause.total_ns -=
        std::min(booked_in_calls_ns_[one.pid] + calls_ns[one.pid], one.cause.total_ns);
    if (one.is_whole_process) {
      const std::uint64_t all_ns = oncpu_ns[one.pid];
      const std::uint64_t rest_ns =
          all_ns - std::min(booked_ns_[one.pid] + calls_ns[one.pid], all_ns);
      one.cause.total_ns = std::max(one.cause.total_ns, rest_ns);
    }
    one.cause.max_ns = std::min(one.cause.max_ns, one.cause.total_ns);
    one.cause.who.front().ns = one.cause.total_ns;
    calls_ns[one.pid] += one.cause.total_ns;
    figures_.causes.push_back(std::move(one.cause));
  }
  for (const auto& [pid, ns] : calls_ns) booked_ns_[pid] += ns;
  for (CallCause& one : retries(found_.calls, found_.info))
    figures_.causes.push_back(std::move(one.cause));
}

void Builder::add_on_cpu() {
  for (const OffcpuRow& group : figures_.groups) {
    const std::uint64_t booked_ns = booked_ns_[group.pid] + ran_ns_[without_numbers(group.comm)];
    const std::uint64_t ns = group.oncpu_ns - std::min(group.oncpu_ns, booked_ns);
    if (ns < duration_ns_ / busy_share) continue;
    auto functions = found_.cpu.of({group.pid, group.comm});
    std::string within;
    if (const auto booked = booked_work_.find({group.pid, group.comm});
        booked != booked_work_.end())
      for (const CpuFunctions::Work& work : booked->second) leave_out(work.counted, functions);
    else if (const auto common = found_.cpu.common_of({group.pid, group.comm}))
      within = fmt::format("{:.0f} % within {}: ", 100 * common->share(), common->function);
    const std::uint64_t samples = functions.empty() ? 0 : functions.front().of;
    std::erase_if(functions,
                  [](const WhyFunction& one) { return is_interrupt_work(one.function); });
    const std::string where = within + functions_text(functions);
    figures_.causes.push_back({.cause = fmt::format("on the CPU{}{}{}", many_text(group),
                                                    where.empty() ? "" : ": ", where),
                               .kind = why_cpu,
                               .count = samples,
                               .total_ns = ns,
                               .who = {named(group, ns)},
                               .next = next_command(why_cpu, "", 0, found_.info),
                               .pid = group.pid,
                               .comm = without_numbers(group.comm)});
    figures_.causes.back().parts.of(ShareKind::oncpu).ns = ns;
  }
}

/// The lock of a file that a process waits for, or tries again and again, and its holder. Of
/// several locked files that the process has open, which one it wants is not known: none is named.
void Builder::name_lock_holders() {
  for (WhyCause& cause : figures_.causes) {
    if (!cause.by.empty() || cause.lock_wanted_by == 0) continue;
    const auto is_wanted = [&](const FileLock& lock) {
      return lock.wanted_by == cause.lock_wanted_by;
    };
    if (std::ranges::count_if(found_.locks, is_wanted) != 1) continue;
    const FileLock& lock = *std::ranges::find_if(found_.locks, is_wanted);
    const std::string holder = fmt::format("{}[{}]", printable(lock.holder.comm), lock.holder.pid);
    cause.cause += fmt::format("; {} is locked by {}",
                               lock.path.empty() ? "a file" : printable(lock.path), holder);
    cause.by.push_back({.name = holder, .count = 1, .ns = cause.total_ns});
  }
}

/// Who must end a wait that has not ended.
void Builder::name_other_sides() {
  for (WhyCause& cause : figures_.causes) {
    if (cause.kind != why_open || !cause.example) continue;
    const auto side = std::ranges::find(found_.sides, cause.example->thread.tid, &OtherSide::tid);
    if (side == found_.sides.end()) continue;
    cause.cause += "; " + side->words;
    if (cause.by.empty() && !side->by.empty())
      cause.by.push_back({.name = side->by, .count = 1, .ns = cause.total_ns});
  }
}

/// The thread of the JVM that ran for most of the session is most likely the one that did not reach
/// the safepoint. Of several, none is named.
void Builder::name_late_for_safepoint() {
  for (WhyCause& cause : figures_.causes) {
    if (!cause.example || cause.cause.find(to_safepoint) == std::string::npos) continue;
    const auto ran = [&](const OffcpuRow& thread) {
      return thread.pid == cause.example->thread.pid && thread.oncpu_ns > thread.wall_ns / 2;
    };
    if (std::ranges::count_if(found_.threads, ran) != 1) continue;
    const OffcpuRow& thread = *std::ranges::find_if(found_.threads, ran);
    cause.cause +=
        fmt::format("; {}[{}] was on the CPU for {} % of the time", printable(thread.comm),
                    thread.tid, percent_of(thread.oncpu_ns, thread.wall_ns));
  }
}

/// The limit that a process whose calls fail has reached.
void Builder::name_limits() {
  for (WhyCause& cause : figures_.causes) {
    if (cause.shortage == Shortage::none) continue;
    const auto limit = std::ranges::find(found_.limits, cause.pid, &Remark::id);
    if (limit != found_.limits.end()) cause.cause += "; " + limit->words;
  }
}

/// The processes of the cause, or of its longest operation.
std::set<std::uint32_t> Builder::processes_of(const WhyCause& cause) const {
  if (cause.example) return {cause.example->thread.pid};
  if (cause.pid != 0) return {cause.pid};
  std::set<std::uint32_t> pids;
  for (const OffcpuRow& thread : found_.threads)
    if (without_numbers(thread.comm) == cause.comm) pids.insert(thread.pid);
  return pids;
}

/// The cgroup that is at its limit. Of several, none is named.
void Builder::name_memory_limits() {
  for (WhyCause& cause : figures_.causes) {
    if (cause.cause.find(cgroup_reclaim) == std::string::npos) continue;
    const std::set<std::uint32_t> pids = processes_of(cause);
    std::set<std::string_view> words;
    for (const Remark& limit : found_.memory_limits)
      if (pids.contains(limit.id)) words.insert(limit.words);
    if (words.size() == 1) cause.cause += fmt::format("; {}", *words.begin());
  }
}

/// The groups that lost or used most time first; pools that are idle come last.
void Builder::sort_groups() {
  std::map<std::string_view, std::uint64_t> late_ns;
  for (const WhyCause& cause : figures_.causes)
    for (const WhyName& name : cause.who) late_ns[name.name] += name.ns;
  std::ranges::sort(figures_.groups, std::ranges::greater(), [&](const OffcpuRow& group) {
    const auto late = late_ns.find(group_name(group));
    return std::max(group.oncpu_ns + group.waiting_ns(), late == late_ns.end() ? 0 : late->second);
  });
}

void Builder::rank() {
  for (WhyCause& cause : figures_.causes) {
    figures_.late_ns += cause.total_ns;
    if (cause.next.empty())
      cause.next = next_command(cause.kind, operation_of(cause), cause.max_ns, found_.info);
  }
  std::erase_if(figures_.causes, [&](const WhyCause& cause) {
    return !is_much(cause.total_ns) && cause.max_ns < least_longest;
  });
  std::ranges::sort(figures_.causes, std::ranges::greater(), &WhyCause::total_ns);
  if (figures_.causes.size() > found_.causes_max) figures_.causes.resize(found_.causes_max);
  sort_groups();
  std::set<std::string_view> kinds;
  for (const WhyCause& cause : figures_.causes)
    if (figures_.next.size() < commands_named && kinds.insert(cause.kind).second)
      figures_.next.push_back(cause.next);
}

}  // namespace

WhyFigures figures_of(const WhyFindings& found) {
  return Builder(found).build();
}

}  // namespace overdue
