#include "report/why/runnable.h"

#include <cmath>

#include "analysis/throttle_words.h"
#include "base/text.h"
#include "sinks/finding_words.h"

namespace overdue {
namespace {

constexpr std::size_t names_max = 1'000, classes_kept = 1'000;

void add_to(std::map<std::string, WhyName>& names, const std::string& key, std::uint64_t ns) {
  if (names.size() >= names_max && !names.contains(key)) return;
  WhyName& name = names[key];
  name.name = key;
  ++name.count;
  name.ns += ns;
}

/// Threads whose names differ in numbers alone are one row. The row has their name if it is the
/// same for all: "cc1plus", and "worker-*" of worker-1 and worker-2.
void add_thread_to(std::map<std::string, WhyName>& names, const std::string& comm,
                   std::uint64_t ns) {
  const std::string pattern = without_numbers(comm);
  const auto known = names.find(pattern);
  const bool is_same = known == names.end() || known->second.name == comm;
  add_to(names, pattern, ns);
  if (const auto row = names.find(pattern); is_same && row != names.end()) row->second.name = comm;
}

}  // namespace

void keep_longest(std::uint64_t& max_ns, std::optional<Finding>& example, const Finding& finding,
                  std::uint64_t ns) {
  if (example && ns <= max_ns) return;
  max_ns = ns;
  example = finding;
}

std::uint64_t scaled(std::uint64_t number, double weight) {
  if (weight == 1) return number;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(number) * weight));
}

void RunnableTime::runners(Sums& sums, const Finding& finding) {
  for (const Wait& wait : finding.waits)
    for (const CpuShare& share : wait.ran.threads)
      if (share.thread.tid != 0)
        add_thread_to(sums.by, share.thread.comm, share.ns);
      else
        sums.idle_ns += share.ns;
}

void RunnableTime::throttles(Sums& sums, const Finding& finding) {
  for (const Wait& wait : finding.waits)
    if (wait.throttle) add_to(sums.by, throttle_text(wait.throttle), wait.throttled_ns);
}

void RunnableTime::add(const Finding& finding, const WhySampling::Class& of, std::uint64_t ns) {
  total_ns_ += ns;
  if (finding.breakdown) parts_.merge(*finding.breakdown);
  add_to(who_, without_numbers(finding.thread.comm), ns);
  keep_longest(max_ns_, longest_, finding, ns);
  const bool has_room = classes_.size() < classes_kept || classes_.contains(of);
  Sums& sums = classes_[has_room ? of : WhySampling::Class()];
  ++sums.count;
  by_(sums, finding);
}

RunnableTime::Sums RunnableTime::weighted(const WhySampling& sampling, bool of_interval) const {
  Sums all;
  for (const auto& [of, one] : classes_) {
    const double weight = sampling.weight(of, of_interval);
    all.count += scaled(one.count, weight);
    all.idle_ns += scaled(one.idle_ns, weight);
    for (const auto& [key, name] : one.by) {
      const auto [known, is_new] = all.by.try_emplace(key, WhyName{.name = name.name});
      if (!is_new && known->second.name != name.name) known->second.name = key;
      known->second.count += scaled(name.count, weight);
      known->second.ns += scaled(name.ns, weight);
    }
  }
  return all;
}

}  // namespace overdue
