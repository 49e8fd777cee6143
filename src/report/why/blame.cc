#include "report/why/blame.h"

#include <algorithm>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "core/span_kinds.h"
#include "flame/stack_filter.h"
#include "report/why/root.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

constexpr std::size_t causes_max = 2'000, open_max = 1'000, names_max = 1'000;

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

/// Whether the finding is part of another one, or waits for a child or a thread, whose own time
/// counts.
bool is_counted_elsewhere(const Finding& finding) {
  if (finding.span == span_name(SPAN_OFFCPU)) {
    const Wait* wait = finding.longest_wait();
    return !wait || is_in_call(wait->kernel_stack);
  }
  if (finding.span != span_name(SPAN_SYSCALL)) return false;
  if (finding.name == "connect") return is_over_tcp(finding);
  return finding.name == "wait4" || finding.name == "waitid" || finding.name == "vfork" ||
         is_join(finding);
}

void add_to(std::map<std::string, WhyName>& names, const std::string& key, std::uint64_t ns) {
  if (names.size() >= names_max && !names.contains(key)) return;
  WhyName& name = names[key];
  name.name = key;
  ++name.count;
  name.ns += ns;
}

void add_parts(Breakdown& sum, const Breakdown& more) {
  for (const auto part :
       {&Breakdown::oncpu_ns, &Breakdown::runqueue_ns, &Breakdown::preempted_ns,
        &Breakdown::throttled_ns, &Breakdown::sleeping_ns, &Breakdown::uninterruptible_ns,
        &Breakdown::irq_ns, &Breakdown::softirq_ns, &Breakdown::unknown_ns})
    sum.*part += more.*part;
}

/// The threads that had the CPU while the thread could run.
void add_runners(std::map<std::string, WhyName>& by, const Finding& finding) {
  for (const Wait& wait : finding.waits)
    for (const CpuShare& share : wait.ran.threads)
      if (share.thread.tid != 0) add_to(by, without_numbers(share.thread.comm), share.ns);
}

/// The cgroups whose limit was used up.
void add_throttles(std::map<std::string, WhyName>& by, const Finding& finding) {
  for (const Wait& wait : finding.waits)
    if (wait.throttle) add_to(by, throttle_text(wait.throttle), wait.throttled_ns);
}

void keep_longest(std::uint64_t& max_ns, std::optional<Finding>& example, const Finding& finding,
                  std::uint64_t ns) {
  if (example && ns <= max_ns) return;
  max_ns = ns;
  example = finding;
}

}  // namespace

void BlameTable::blame(const Finding& finding, const WhySampling::Class& of, std::string_view kind,
                       std::uint64_t ns) {
  Root root = root_of(finding);
  root.key += kind;
  if (rows_.size() >= causes_max && !rows_.contains(root.key)) {
    merged_ns_ += ns;
    return;
  }
  Row& row = rows_[root.key];
  if (row.who.empty()) {
    row.cause.cause = root.text;
    row.cause.kind = kind;
  }
  row.ns += ns;
  row.explained_ns += std::min(root.explained_ns, ns);
  if (finding.breakdown) add_parts(row.cause.parts, *finding.breakdown);
  keep_longest(row.cause.max_ns, row.cause.example, finding, ns);
  Who& who = row.who[of];
  if (who.count++ == 0) who.first = finding.thread;
  who.are_several |= who.first.tid != finding.thread.tid;
  who.ns += ns;
}

void BlameTable::add(const Finding& finding, const WhySampling::Class& of) {
  if (finding.type == "hang") {
    if (open_.size() < open_max) open_[finding.number] = finding;
    return;
  }
  if (finding.hang != 0) open_.erase(finding.hang);
  if (is_counted_elsewhere(finding)) return;
  longest_ns_ = std::max(longest_ns_, finding.late_ns());
  if (finding.breakdown) {
    const Breakdown& parts = *finding.breakdown;
    if (const std::uint64_t ns = parts.runqueue_ns + parts.preempted_ns; ns > 0) {
      ++runqueue_.count;
      keep_longest(runqueue_.max_ns, runqueue_.example, finding, ns);
      add_runners(runqueue_.by, finding);
    }
    if (parts.throttled_ns > 0) {
      ++throttled_.count;
      keep_longest(throttled_.max_ns, throttled_.example, finding, parts.throttled_ns);
      add_throttles(throttled_.by, finding);
    }
  }
  const std::uint64_t blocked_ns = late_blocked_ns(finding);
  if (blocked_ns > 0 && blocked_ns >= finding.threshold_ns / 2)
    blame(finding, of, why_blocked, blocked_ns);
}

void BlameTable::finish(KernelTime end, const std::map<std::uint32_t, std::uint64_t>& open_ns) {
  for (auto& [number, finding] : open_) {
    const auto later_ns =
        end > finding.time ? static_cast<std::uint64_t>((end - finding.time).count()) : 0;
    const auto present = open_ns.find(finding.thread.tid);
    if (present == open_ns.end() || present->second < later_ns / 2) continue;  // it has ended
    if (is_counted_elsewhere(finding)) continue;
    finding.latency_ns += later_ns;
    longest_ns_ = std::max(longest_ns_, finding.late_ns());
    blame(finding, {}, why_open, finding.late_ns());
  }
  open_.clear();
}

/// Threads of one name may be late in several classes of operations.
std::vector<WhyName> BlameTable::names_of(const Row& row, const WhySampling& sampling) {
  std::map<std::string, Who> by_name;
  for (const auto& [of, one] : row.who) {
    Who& who = by_name[without_numbers(one.first.comm)];
    if (who.count == 0) who.first = one.first;
    who.are_several |= one.are_several || who.first.tid != one.first.tid;
    const double weight = sampling.weight(of);
    who.count += static_cast<std::uint64_t>(static_cast<double>(one.count) * weight + 0.5);
    who.ns +=
        weight == 1 ? one.ns : static_cast<std::uint64_t>(static_cast<double>(one.ns) * weight);
  }
  std::vector<WhyName> names;
  for (const auto& [name, who] : by_name)
    names.push_back({who.are_several ? name : thread_text(who.first), who.count, who.ns});
  std::ranges::sort(names, std::ranges::greater(), &WhyName::ns);
  return names;
}

std::vector<WhyCause> BlameTable::blocked(const WhySampling& sampling) const {
  std::vector<WhyCause> all;
  for (const auto& [key, row] : rows_) {
    WhyCause cause = row.cause;
    cause.who = names_of(row, sampling);
    for (const WhyName& name : cause.who) {
      cause.count += name.count;
      cause.total_ns += name.ns;
    }
    // A root that explains less than most of the time says how much.
    if (cause.kind == why_blocked && row.explained_ns < row.ns / 10 * 8)
      cause.cause += fmt::format(" ({} % of the time)", 100 * row.explained_ns / row.ns);
    all.push_back(std::move(cause));
  }
  std::ranges::sort(all, std::ranges::greater(), &WhyCause::total_ns);
  return all;
}

}  // namespace overdue
