#include "report/why/cpu_waits.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/why/short_waits.h"

namespace overdue {
namespace {

using ByName = std::map<std::string, WhyName>;

constexpr std::size_t named_at_most = 3;
constexpr std::uint64_t named_from = 10;  // percent

std::uint64_t sum_of(const ByName& names) {
  std::uint64_t ns = 0;
  for (const auto& [key, name] : names) ns += name.ns;
  return ns;
}

std::vector<WhyName> longest_first(const ByName& names) {
  std::vector<WhyName> all;
  for (const auto& [key, name] : names) all.push_back(name);
  std::ranges::sort(all, std::ranges::greater(), &WhyName::ns);
  return all;
}

/// Adds shares of `left_ns` for the threads that had the CPU, as the kernel has added them up.
void add_shares(const std::vector<OffcpuRow>& threads, std::vector<Displacer> OffcpuRow::* of,
                std::uint64_t left_ns, RunnableTime::Sums& sums) {
  std::uint64_t all_ns = 0, idle_ns = 0;
  ByName names;
  for (const OffcpuRow& thread : threads)
    for (const Displacer& one : thread.*of) {
      all_ns += one.total_ns;
      if (of == &OffcpuRow::behind && one.is_idle_cpu()) idle_ns += one.total_ns;
      if (one.tid == 0) continue;
      WhyName& name = names[without_numbers(one.comm)];
      name.count += one.count;
      name.ns += of == &OffcpuRow::displacers ? one.ran_at_most_ns() : one.total_ns;
    }
  sums.idle_ns += part_of(idle_ns, left_ns, all_ns);
  for (const auto& [key, name] : names) {
    WhyName& sum = sums.by.try_emplace(key, WhyName{.name = key}).first->second;
    sum.count += part_of(name.count, left_ns, all_ns);
    sum.ns += part_of(name.ns, left_ns, all_ns);
  }
}

/// Adds the waits that were not examined. The kernel knows who displaced a thread, and, of some
/// of the other waits, which stand for all, who had the CPU.
void add_sums_of_kernel(const std::vector<OffcpuRow>& threads, const WhyCause& cause,
                        RunnableTime::Sums& sums) {
  const std::uint64_t known_ns = sum_of(sums.by) + sums.idle_ns;
  if (known_ns >= cause.total_ns) return;
  const auto left_of = [&](std::uint64_t part_ns) {
    return part_of(part_ns, cause.total_ns - known_ns, cause.total_ns);
  };
  add_shares(threads, &OffcpuRow::displacers, left_of(cause.parts.ns(ShareKind::preempted)), sums);
  add_shares(threads, &OffcpuRow::behind, left_of(cause.parts.ns(ShareKind::runqueue)), sums);
}

/// " behind cc1plus 60 %, sh 15 %, while the CPU idled 10 % (unknown: 15 %)": shares of the whole
/// time.
std::string runners_text(const WhyCause& cause) {
  std::uint64_t known_ns = cause.idle_ns;
  for (const WhyName& one : cause.by) known_ns += one.ns;
  const std::uint64_t whole_ns = std::max(cause.total_ns, known_ns);
  const auto percent = [&](std::uint64_t ns) { return 100 * ns / whole_ns; };
  std::vector<std::string> said;
  for (const WhyName& one : cause.by)
    if (said.size() < named_at_most && percent(one.ns) >= named_from)
      said.push_back(fmt::format("{} {} %", shown_name(one), percent(one.ns)));
  std::string text = said.empty() ? "" : fmt::format(" behind {}", fmt::join(said, ", "));
  if (percent(cause.idle_ns) >= named_from)
    text +=
        fmt::format("{} while the CPU idled {} %", said.empty() ? "" : ",", percent(cause.idle_ns));
  const std::uint64_t unknown = percent(whole_ns - known_ns);
  if (unknown >= named_from) text += fmt::format(" (unknown: {} %)", unknown);
  return text;
}

/// "; bound to CPU 0, while the other CPU was idle 60 % of the time", if that is so of most of
/// the time; else empty.
std::string text_of(const std::vector<Remark>& remarks, const std::vector<OffcpuRow>& threads,
                    std::uint64_t total_ns) {
  std::map<std::uint32_t, std::string_view> words_of;
  for (const Remark& remark : remarks) words_of[remark.id] = remark.words;
  std::map<std::string_view, std::uint64_t> late_ns;
  for (const OffcpuRow& thread : threads)
    if (const auto one = words_of.find(thread.tid); one != words_of.end())
      late_ns[one->second] += thread.runqueue_ns + thread.preempted_ns;
  for (const auto& [words, ns] : late_ns)
    if (2 * ns > total_ns) return fmt::format("; {}", words);
  return {};
}

void add_waits_for_cpu(const WhyFindings& found, WhyFigures& figures) {
  const RunnableTime& late = found.blame.runqueue();
  RunnableTime::Sums examined = late.weighted(found.sampling, found.of_interval);
  WhyCause cause{.cause = "waited for a CPU",
                 .kind = why_runqueue,
                 .count = examined.count,
                 .max_ns = late.max_ns(),
                 .example = late.longest()};
  for (const OffcpuRow& group : figures.groups) {
    const std::uint64_t ns = group.runqueue_ns + group.preempted_ns;
    if (ns == 0) continue;
    cause.total_ns += ns;
    cause.parts.of(ShareKind::runqueue).ns += group.runqueue_ns;
    cause.parts.of(ShareKind::preempted).ns += group.preempted_ns;
    cause.who.push_back(named(group, ns));
  }
  if (cause.total_ns == 0) return;
  add_sums_of_kernel(found.threads, cause, examined);
  cause.by = longest_first(examined.by);
  cause.idle_ns = examined.idle_ns;
  std::ranges::sort(cause.who, std::ranges::greater(), &WhyName::ns);
  cause.cause += runners_text(cause) + text_of(found.bound_threads, found.threads, cause.total_ns) +
                 text_of(found.lower_priorities, found.threads, cause.total_ns);
  figures.causes.push_back(std::move(cause));
}

void add_throttled(const WhyFindings& found, WhyFigures& figures) {
  const RunnableTime& late = found.blame.throttled();
  const RunnableTime::Sums examined = late.weighted(found.sampling, found.of_interval);
  WhyCause cause{.cause = "throttled",
                 .kind = why_throttled,
                 .count = examined.count,
                 .max_ns = late.max_ns(),
                 .by = longest_first(examined.by),
                 .example = late.longest()};
  for (const OffcpuRow& group : figures.groups) {
    if (group.throttled_ns == 0) continue;
    cause.total_ns += group.throttled_ns;
    cause.who.push_back(named(group, group.throttled_ns));
  }
  if (cause.total_ns == 0) return;
  cause.parts.of(ShareKind::throttled).ns = cause.total_ns;
  std::ranges::sort(cause.who, std::ranges::greater(), &WhyName::ns);
  cause.cause += cause.by.empty() ? " by a CPU quota, or the limit of real-time threads"
                                  : " " + cause.by.front().name;
  figures.causes.push_back(std::move(cause));
}

}  // namespace

void add_cpu_waits(const WhyFindings& found, WhyFigures& figures) {
  add_waits_for_cpu(found, figures);
  add_throttled(found, figures);
}

}  // namespace overdue
