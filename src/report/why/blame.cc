#include "report/why/blame.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analysis/wait_functions.h"
#include "analysis/wait_purpose.h"
#include "base/text.h"
#include "core/span_kinds.h"
#include "report/why/kernel_side.h"
#include "report/why/root.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

constexpr std::size_t causes_max = 2'000, open_max = 1'000, tids_max = 100;
constexpr std::size_t blamed_threads_max = 20'000;  // of all causes together

/// Time in which the thread was blocked, without the time that was no delay.
std::uint64_t late_blocked_ns(const Finding& finding) {
  if (!finding.breakdown) return finding.late_ns();
  const std::uint64_t blocked_ns = finding.breakdown->blocked_ns();
  return blocked_ns - std::min(blocked_ns, finding.purpose.meant_ns);
}

/// A connect() over TCP is a tcp_connect span too, which says more.
bool is_over_tcp(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  return wait && std::ranges::any_of(wait->kernel_stack, [](const StackFrame& frame) {
           return frame.name.starts_with("inet_");
         });
}

/// Whether a program waited in a poll for the end of its own connect(), which has a tcp_connect
/// span too.
bool is_end_of(const Finding& poll, const Finding& connect) {
  return poll.name.ends_with("poll") && poll.object && poll.object->remote == connect.name &&
         poll.thread.pid == connect.thread.pid && poll.user_stack &&
         std::ranges::any_of(*poll.user_stack, [](const StackFrame& frame) {
           return frame.name.find("onnect") != std::string::npos;
         });
}

/// Leaves out the waits for connects that have causes of their own. A poll may be a little longer
/// than what is known of the connect.
void leave_out_ends_of_connects(std::vector<WhyCause>& causes) {
  std::vector<std::pair<Finding, std::uint64_t>> connects;
  for (const WhyCause& cause : causes)
    if (cause.example && cause.example->span == span_name(SPAN_TCP_CONNECT))
      connects.emplace_back(*cause.example, cause.total_ns / 8 * 10);
  if (connects.empty()) return;
  std::erase_if(causes, [&](const WhyCause& cause) {
    for (auto& [connect, left_ns] : connects) {
      if (!cause.example || !is_end_of(*cause.example, connect) || cause.total_ns > left_ns)
        continue;
      left_ns -= cause.total_ns;
      return true;
    }
    return false;
  });
}

/// Whether the thread waits for the end of another one: by the C library's function, or the one of
/// a runtime in which a thread that ends wakes those that join it.
bool is_join(const Finding& finding) {
  constexpr std::string_view joins[] = {"ThreadHandle_join"}, ends[] = {"release_sentinel"};
  const auto has = [](const Stack& stack, std::span<const std::string_view> names) {
    return std::ranges::any_of(stack, [&](const StackFrame& frame) {
      return std::ranges::find(names, frame.name) != names.end() ||
             (is_of_c_library(frame) && frame.name.find("join") != std::string::npos);
    });
  };
  if (finding.user_stack && has(*finding.user_stack, joins)) return true;
  return !finding.chain.empty() && has(finding.chain.front().waking_stack, ends);
}

bool is_page_fault(const Finding& finding) {
  const Wait* wait = finding.longest_wait();
  return finding.span == span_name(SPAN_OFFCPU) && wait &&
         kernel_side_of(wait->kernel_stack) == KernelSide::page_fault;
}

/// Whether a thread asked to wait for so long, and not for a lock: its time is no delay.
bool is_wanted_timeout(const Finding& finding) {
  return finding.error == "ETIMEDOUT" && wait_kind_of_call(finding.name) == WaitKind::condition &&
         !waits_for_lock(finding);
}

/// Whether the root names a thread or a device. A wait of which no record is known names nothing.
bool names_something(const Root& root) {
  return root.thread || !root.by.empty();
}

}  // namespace

void BlameTable::Who::add(const ThreadName& thread, std::uint64_t late_ns) {
  if (count++ == 0) first = thread;
  are_several |= first.tid != thread.tid;
  ns += late_ns;
  if (tids.size() < tids_max) tids.insert(thread.tid);
}

void BlameTable::Who::add(const Who& more, double weight) {
  if (count == 0) first = more.first;
  are_several |= more.are_several || first.tid != more.first.tid;
  count += scaled(more.count, weight);
  ns += scaled(more.ns, weight);
}

BlameTable BlameTable::next() const {
  BlameTable table(rules_);
  table.open_ = open_;
  table.ended_ = ended_;
  return table;
}

void BlameTable::add_thread(Late& late, std::uint32_t tid, std::uint64_t ns) {
  if (!rules_.by_thread) return;
  const auto known = late.threads.find(tid);
  if (known != late.threads.end()) {
    known->second += ns;
  } else if (threads_ < blamed_threads_max) {
    late.threads[tid] = ns;
    ++threads_;
  } else {
    unassigned_ns_ += ns;
  }
}

void BlameTable::blame(const Finding& finding, const WhySampling::Class& of, std::string_view kind,
                       std::uint64_t lasted_ns) {
  const std::uint64_t ns = rules_.most_ns == 0 ? lasted_ns : std::min(lasted_ns, rules_.most_ns);
  Root root = root_of(finding);
  root.key += kind;
  if (rows_.size() >= causes_max && !rows_.contains(root.key)) {
    merged_ns_ += ns;
    return;
  }
  Row& row = rows_[root.key];
  const std::uint64_t explained_ns = std::min(root.explained_ns, ns);
  row.cause.kind = kind;
  row.ns += ns;
  row.explained_ns += explained_ns;
  if (root.is_one_lock) row.activities.add(root, ns);
  row.has_answers |= finding.purpose.of == "answer";
  row.cause.may_be_idle |= root.may_be_idle;
  if (finding.type == "hang" && (finding.name == "flock" || finding.name == "fcntl"))
    row.cause.lock_wanted_by = finding.thread.pid;
  if (finding.breakdown) row.cause.parts.merge(*finding.breakdown);
  Late& late = row.late[of];
  late.who.add(finding.thread, ns);
  add_thread(late, finding.thread.tid, ns);
  const Wait* wait = finding.longest_wait();
  if ((wait && !wait->means.empty()) || is_stopped_at_present(finding))
    late.stopped_ns += ns;
  else if (is_page_fault(finding))
    late.fault_ns += ns;
  else if (finding.breakdown)
    late.disk_ns += std::min(ns, finding.breakdown->ns(ShareKind::uninterruptible));
  if (root.thread) {
    const std::string name = without_numbers(root.thread->comm);
    late.by[name].add(*root.thread, explained_ns);
    late.ran_ns[name] += std::min(root.ran_ns, ns);
  } else if (!root.by.empty()) {
    late.by[root.by].add(ThreadName{}, explained_ns);
  }
  // A thread that waits for the root itself says more than one behind it.
  const bool is_nearer = row.root.thread && !root.by.empty() && !root.thread;
  const bool is_as_near = row.root.thread.has_value() == root.thread.has_value();
  const bool says_more = !names_something(row.root) && names_something(root);
  const bool says_less = names_something(row.root) && !names_something(root);
  if (!row.cause.example || is_nearer || says_more ||
      (is_as_near && !says_less && lasted_ns > row.cause.max_ns))
    row.root = std::move(root);
  keep_longest(row.cause.max_ns, row.cause.example, finding, lasted_ns);
}

/// Whether the finding is part of another one, or waits for the end of a child or a thread, whose
/// own time counts, or is a wait of a thread of the kernel's, whose clients' waits count.
bool BlameTable::is_counted_elsewhere(const Finding& finding) const {
  if (finding.span == span_name(SPAN_OFFCPU)) {
    const Wait* wait = finding.longest_wait();
    if (wait && is_kernel_thread(wait->kernel_stack)) return true;
    // Without a stack, the kernel has not reported the switch: the wait may be within a call.
    return !rules_.waits_in_calls &&
           (!wait || wait->kernel_stack.empty() || is_in_call(wait->kernel_stack));
  }
  if (finding.span != span_name(SPAN_SYSCALL)) return false;
  if (finding.name == "connect") return !rules_.connects && is_over_tcp(finding);
  if (holds_up_event_loop(finding)) return false;
  return finding.name == "wait4" || finding.name == "waitid" || finding.name == "vfork" ||
         is_join(finding);
}

/// A call from before the session is not known by its end: one that ended after it was seen open is
/// the same call, and a later one of its thread shows that it has ended.
void BlameTable::end_older_call(const Finding& call) {
  const KernelTime begin = call.time - Duration(call.latency_ns);
  std::erase_if(open_, [&](const auto& one) {
    const Finding& older = one.second;
    if (!older.is_older || older.thread.tid != call.thread.tid) return false;
    if (older.time <= begin) ended_.insert(one.first);
    return call.type != "hang" && begin < older.time && older.time <= call.time;
  });
}

void BlameTable::end_call(std::uint32_t tid) {
  std::erase_if(
      open_, [&](const auto& one) { return !one.second.is_older && one.second.thread.tid == tid; });
}

void BlameTable::add_waits_for_cpu(const Finding& finding, const WhySampling::Class& of) {
  if (!finding.breakdown) return;
  const Breakdown& parts = *finding.breakdown;
  if (const std::uint64_t ns = parts.ns(ShareKind::runqueue) + parts.ns(ShareKind::preempted);
      ns > 0)
    runqueue_.add(finding, of, ns);
  if (parts.ns(ShareKind::throttled) > 0)
    throttled_.add(finding, of, parts.ns(ShareKind::throttled));
}

void BlameTable::add_left_out(const Finding& finding, const WhySampling::Class& of) {
  if (finding.type != "hang" && !is_counted_elsewhere(finding)) add_waits_for_cpu(finding, of);
}

void BlameTable::add(const Finding& finding, const WhySampling::Class& of) {
  if (finding.span == span_name(SPAN_SYSCALL)) end_older_call(finding);
  if (finding.type == "hang") {
    if (open_.size() < open_max) open_[finding.number] = finding;
    return;
  }
  if (finding.hang != 0) open_.erase(finding.hang);
  if (is_counted_elsewhere(finding)) return;
  longest_ns_ = std::max(longest_ns_, finding.late_ns());
  add_waits_for_cpu(finding, of);
  const std::uint64_t blocked_ns = late_blocked_ns(finding);
  if (blocked_ns > longest_lock_ns_ && waits_for_any_lock(finding)) longest_lock_ns_ = blocked_ns;
  if (blocked_ns > 0 && blocked_ns >= finding.threshold_ns / 2 && !is_wanted_timeout(finding))
    blame(finding, of, why_blocked, blocked_ns);
}

std::set<std::uint32_t> BlameTable::lock_waiters() const {
  std::set<std::uint32_t> pids;
  for (const auto& [number, finding] : open_)
    if (finding.name == "flock" || finding.name == "fcntl") pids.insert(finding.thread.pid);
  return pids;
}

std::set<std::uint32_t> BlameTable::processes_with(std::string_view work) const {
  std::set<std::uint32_t> pids;
  for (const auto& [key, row] : rows_)
    if (row.cause.example && row.root.operation.find(work) != std::string::npos)
      pids.insert(row.cause.example->thread.pid);
  return pids;
}

std::vector<OpenWait> BlameTable::open_waits() const {
  std::vector<OpenWait> waits;
  for (const auto& [number, finding] : open_)
    if (const OpenWait wait = open_wait_of(finding);
        wait.lock != LibraryLock::none || wait.is_stopped)
      waits.push_back(wait);
  return waits;
}

std::set<AwaitedEnd> BlameTable::awaited_ends() const {
  std::set<AwaitedEnd> ends;
  const auto add = [&ends](const Finding& finding) {
    if (auto end = awaited_end(finding)) ends.insert(std::move(*end));
  };
  for (const auto& [number, finding] : open_) add(finding);
  for (const auto& [key, row] : rows_)
    if (row.cause.example && !row.root.thread) add(*row.cause.example);
  return ends;
}

void BlameTable::finish(KernelTime end, const std::map<std::uint32_t, std::uint64_t>& open_ns) {
  for (auto& [number, finding] : open_) {
    const auto later_ns =
        end > finding.time ? static_cast<std::uint64_t>((end - finding.time).count()) : 0;
    const auto present = open_ns.find(finding.thread.tid);
    if (present == open_ns.end()) continue;  // the thread has ended
    if (is_counted_elsewhere(finding)) continue;
    // The end of a call may have no record. A wait that has begun since shows it, unless the call
    // is one in which threads are woken now and then and wait on, as for room.
    const bool may_have_ended = present->second < later_ns / 2;
    if (may_have_ended && wait_kind_of_call(finding.name) != WaitKind::none) continue;
    // A thread that waits for another one since before the session, and not for a lock, is idle.
    if (wait_kind_of_call(finding.name) == WaitKind::condition && !waits_for_lock(finding))
      continue;
    const bool has_ended = (may_have_ended && finding.is_older) || ended_.contains(number);
    if (!has_ended) finding.latency_ns += later_ns;
    longest_ns_ = std::max(longest_ns_, finding.late_ns());
    const bool is_known =
        has_ended || rows_.contains(root_of(finding).key + std::string(why_blocked));
    blame(finding, {}, is_known ? why_blocked : why_open, finding.late_ns());
  }
  open_.clear();
  ended_.clear();
}

/// The names that stand for these threads, longest first.
std::vector<WhyName> BlameTable::names_of(const std::map<std::string, Who>& by_name) {
  std::vector<WhyName> names;
  for (const auto& [name, who] : by_name)
    names.push_back(
        {who.are_several || who.first.tid == 0 ? name : thread_text(who.first), who.count, who.ns});
  std::ranges::sort(names, std::ranges::greater(), &WhyName::ns);
  return names;
}

/// The cause in words. A root that explains less than most of the time says how much, and a thread
/// that explains hardly any of it has only ended the waits.
std::string BlameTable::text_of(const Row& row, const WhyCause& cause,
                                const std::map<std::string, Who>& by) {
  constexpr std::uint64_t least_percent = 10;
  Activities::Most most{row.root, row.explained_ns};
  WhyName name = cause.by.empty() ? WhyName() : cause.by.front();
  if (!row.activities.empty()) {
    most = row.activities.most();
    const std::string pattern = most.root.thread ? without_numbers(most.root.thread->comm) : "";
    const auto who = by.find(pattern);
    const bool is_one = who != by.end() && !who->second.are_several;
    name.name = is_one ? thread_text(who->second.first) : pattern;
  }
  if (cause.kind != why_blocked || most.ns >= row.ns / 10 * 8)
    return cause_text(most.root, shown_name(name));
  const std::uint64_t percent = 100 * most.ns / row.ns;
  if (most.root.thread && percent < least_percent)
    return fmt::format("{}, ended by {} (unknown: {} %)", most.root.operation, shown_name(name),
                       100 - percent);
  return fmt::format("{} ({} % of the time)", cause_text(most.root, shown_name(name)), percent);
}

BlameTable::Blocked BlameTable::blocked(const WhySampling& sampling, bool of_interval) const {
  Blocked all;
  for (const auto& [key, row] : rows_) {
    WhyCause cause = row.cause;
    // Who waits behind a thread that waits for an answer is no idle pool.
    if (row.has_answers) cause.may_be_idle = false;
    std::map<std::string, Who> who, by;
    for (const auto& [of, late] : row.late) {
      const double weight = sampling.weight(of, of_interval);
      who[without_numbers(late.who.first.comm)].add(late.who, weight);
      cause.waiters.insert(late.who.tids.begin(), late.who.tids.end());
      for (const auto& [name, one] : late.by) by[name].add(one, weight);
      for (const auto& [name, ns] : late.ran_ns) all.ran_ns[name] += scaled(ns, weight);
      for (const auto& [tid, ns] : late.threads) cause.threads[tid] += scaled(ns, weight);
      all.disk_ns += scaled(late.disk_ns, weight);
      all.fault_ns += scaled(late.fault_ns, weight);
      all.stopped_ns += scaled(late.stopped_ns, weight);
    }
    cause.who = names_of(who);
    cause.by = names_of(by);
    for (const WhyName& name : cause.who) {
      cause.count += name.count;
      cause.total_ns += name.ns;
    }
    cause.cause = text_of(row, cause, by);
    all.causes.push_back(std::move(cause));
  }
  leave_out_ends_of_connects(all.causes);
  std::ranges::sort(all.causes, std::ranges::greater(), &WhyCause::total_ns);
  return all;
}

}  // namespace overdue
