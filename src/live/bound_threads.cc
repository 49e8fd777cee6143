#include "live/bound_threads.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "live/late_threads.h"
#include "target/cpu_list.h"
#include "target/proc.h"

namespace overdue {
namespace {

/// The CPUs on which the thread may run; empty: not known. `any`: those that a machine can have.
std::vector<std::uint32_t> cpus_of(const std::filesystem::path& proc, const OffcpuRow& thread,
                                   const std::vector<std::uint32_t>& any) {
  constexpr std::string_view title = "Cpus_allowed_list:";
  const std::string path = fmt::format("{}/task/{}/status", thread.pid, thread.tid);
  const std::string status = read_text(proc / path).value_or("");
  for (std::string_view line : split(status, '\n')) {
    if (!line.starts_with(title)) continue;
    line.remove_prefix(title.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    try {
      return parse_cpu_list(line, any);
    } catch (const Error&) {
      return {};
    }
  }
  return {};
}

}  // namespace

BoundThreads::BoundThreads(std::filesystem::path proc) : proc_(std::move(proc)), begin_(times()) {}

std::map<std::uint32_t, BoundThreads::CpuTime> BoundThreads::times() const {
  // user, nice, system, idle, iowait, irq, softirq, steal; what guests use is within the first two.
  constexpr std::size_t idle = 3, iowait = 4, columns = 8;
  std::map<std::uint32_t, CpuTime> times;
  const std::string text = read_text(proc_ / "stat").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() <= columns || !words[0].starts_with("cpu")) continue;
    const std::optional<std::uint64_t> cpu = first_number(words[0].substr(3));
    if (!cpu) continue;  // the sum of all
    CpuTime& time = times[static_cast<std::uint32_t>(*cpu)];
    for (std::size_t i = 0; i < columns; ++i) {
      const std::uint64_t ticks = first_number(words[i + 1]).value_or(0);
      time.all += ticks;
      if (i == idle || i == iowait) time.idle += ticks;
    }
  }
  return times;
}

std::vector<Remark> BoundThreads::among(const std::vector<OffcpuRow>& threads) const {
  const std::vector<const OffcpuRow*> late = threads_without_cpu(threads);
  std::vector<Remark> remarks;
  if (late.empty()) return remarks;
  const ReadRights rights;
  const std::vector<std::uint32_t> any = cpus_of_any_machine();
  const std::map<std::uint32_t, CpuTime> end = times();
  for (const OffcpuRow* thread : late) {
    const std::vector<std::uint32_t> own = cpus_of(proc_, *thread, any);
    if (own.empty()) continue;
    std::uint64_t idle = 0, all = 0;
    std::size_t others = 0;
    for (const auto& [cpu, time] : end) {
      const auto begin = begin_.find(cpu);
      if (begin == begin_.end() || std::ranges::binary_search(own, cpu)) continue;
      ++others;
      idle += time.idle - std::min(time.idle, begin->second.idle);
      all += time.all - std::min(time.all, begin->second.all);
    }
    if (all == 0 || 100 * idle < idle_from * all) continue;
    remarks.push_back({.id = thread->tid,
                       .words = fmt::format(
                           "bound to CPU {}, while {} idle {} % of the time", format_cpu_list(own),
                           others == 1 ? std::string("the other CPU was")
                                       : fmt::format("the other {} CPUs were", others),
                           std::min<std::uint64_t>(100, 100 * idle / all))});
  }
  return remarks;
}

}  // namespace overdue
