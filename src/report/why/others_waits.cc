#include "report/why/others_waits.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/span_kinds.h"
#include "report/why/kernel_side.h"
#include "report/why/root.h"
#include "report/why/short_waits.h"

namespace overdue {
namespace {

constexpr std::size_t pairs_max = 20'000;

/// Time in which the thread waited in a run queue.
std::uint64_t ready_ns(const Wait& wait) {
  return wait.could_run() ? wait.ns - std::min(wait.ns, wait.throttled_ns) : wait.runqueue_ns;
}

/// Adds up, by row, which rows had the CPU while one waited.
class Holders {
 public:
  Holders(const std::vector<WhyRow>& rows, Whose by, const std::vector<OffcpuRow>& threads,
          bool all_apart)
      : rows_(rows), places_(rows, by, threads), all_apart_(all_apart), of_rows_(rows.size()) {}

  void add_examined(const std::vector<WaitBehind>& waits);
  /// Adds who had the CPU in waits that were not examined.
  void add_sums_of_kernel(const std::vector<OffcpuRow>& threads);
  std::vector<OthersWaits> result() const;

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  /// What the kernel added up: time by the place of the row that had the CPU.
  struct Share {
    std::map<std::size_t, double> ns;
    double all_ns = 0;
  };
  /// The waits of a row: time by the place of the row that had the CPU, or `none`.
  struct OfRow {
    std::map<std::size_t, double> known_ns;
    double sum_ns = 0;                         ///< of known_ns
    double examined_ns = 0, preempted_ns = 0;  ///< examined waits; those after a preemption
    Share displaced, behind;
  };

  std::optional<std::size_t> holder(std::optional<std::uint32_t> tid) const;
  void add_to(Share& share, const OffcpuRow& thread, std::vector<Displacer> OffcpuRow::* of) const;
  static void add_rest(OfRow& row, const Share& of, double rest_ns);
  std::uint64_t total_ns(std::size_t place) const {
    return rows_[place].runqueue_ns + rows_[place].preempted_ns;
  }

  const std::vector<WhyRow>& rows_;
  RowPlaces places_;
  bool all_apart_;
  std::vector<OfRow> of_rows_;
};

/// A thread that is not in the table is none of the target's, if all of these are kept apart.
std::optional<std::size_t> Holders::holder(std::optional<std::uint32_t> tid) const {
  if (!tid) return std::nullopt;
  if (*tid == 0) return none;
  if (places_.has_thread(*tid)) return places_.of(*tid);
  return all_apart_ ? std::optional(none) : std::nullopt;
}

/// Estimates may be more than the sums of the kernel, which are exact: then they are parts of
/// these.
void Holders::add_examined(const std::vector<WaitBehind>& waits) {
  for (const WaitBehind& wait : waits) {
    const auto of = places_.of(wait.waiter);
    if (!of) continue;
    OfRow& row = of_rows_[*of];
    row.examined_ns += wait.ns;
    if (wait.was_preempted) row.preempted_ns += wait.ns;
    if (const auto by = holder(wait.holder)) row.known_ns[*by] += wait.ns;
  }
  for (std::size_t i = 0; i < of_rows_.size(); ++i) {
    OfRow& row = of_rows_[i];
    const double share = std::min(1.0, static_cast<double>(total_ns(i)) / row.examined_ns);
    if (row.examined_ns <= 0) continue;
    for (auto& [by, ns] : row.known_ns) row.sum_ns += ns *= share;
    row.examined_ns *= share;
    row.preempted_ns *= share;
  }
}

void Holders::add_to(Share& share, const OffcpuRow& thread,
                     std::vector<Displacer> OffcpuRow::* of) const {
  for (const Displacer& one : thread.*of) {
    share.all_ns += static_cast<double>(one.total_ns);
    const auto by = holder(one.tid);
    if (!by || (one.tid == 0 && !one.is_idle_cpu())) continue;
    share.ns[*by] +=
        static_cast<double>(of == &OffcpuRow::displacers ? one.ran_at_most_ns() : one.total_ns);
  }
}

/// Adds shares of `rest_ns`.
void Holders::add_rest(OfRow& row, const Share& of, double rest_ns) {
  if (rest_ns <= 0 || of.all_ns <= 0) return;
  const double share = rest_ns / of.all_ns;
  for (const auto& [by, ns] : of.ns) {
    row.known_ns[by] += ns * share;
    row.sum_ns += ns * share;
  }
}

/// The kernel knows who displaced a thread, and, of some of the other waits, who had the CPU. The
/// shares of these threads stand for the waits that were too short to be examined.
void Holders::add_sums_of_kernel(const std::vector<OffcpuRow>& threads) {
  for (const OffcpuRow& thread : threads) {
    const auto of = places_.of(thread);
    if (!of) continue;
    add_to(of_rows_[*of].displaced, thread, &OffcpuRow::displacers);
    add_to(of_rows_[*of].behind, thread, &OffcpuRow::behind);
  }
  for (std::size_t i = 0; i < of_rows_.size(); ++i) {
    OfRow& row = of_rows_[i];
    const double rest_ns = static_cast<double>(total_ns(i)) - row.examined_ns;
    const double preempted_ns =
        std::min(static_cast<double>(rows_[i].preempted_ns) - row.preempted_ns, rest_ns);
    add_rest(row, row.displaced, preempted_ns);
    add_rest(row, row.behind, rest_ns - std::max(0.0, preempted_ns));
  }
}

std::vector<OthersWaits> Holders::result() const {
  std::vector<double> behind_ns(rows_.size());
  std::uint64_t all_ns = 0;
  double all_unknown_ns = 0;
  const auto unknown_ns = [&](std::size_t i) {
    return std::max(0.0, static_cast<double>(total_ns(i)) - of_rows_[i].sum_ns);
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    all_ns += total_ns(i);
    all_unknown_ns += unknown_ns(i);
    for (const auto& [by, ns] : of_rows_[i].known_ns)
      if (by != none && by != i) behind_ns[by] += ns;
  }
  std::vector<OthersWaits> all;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    OthersWaits of{.total_ns = all_ns - total_ns(i)};
    of.behind_ns = std::min(of.total_ns, static_cast<std::uint64_t>(behind_ns[i]));
    of.unknown_ns =
        std::min(of.total_ns - of.behind_ns,
                 static_cast<std::uint64_t>(std::max(0.0, all_unknown_ns - unknown_ns(i))));
    all.push_back(of);
  }
  return all;
}

}  // namespace

bool has_own_waits(const Finding& finding) {
  if (finding.type == "hang") return false;
  if (finding.span == span_name(SPAN_SYSCALL)) return true;
  if (finding.span != span_name(SPAN_OFFCPU)) return false;
  const Wait* wait = finding.longest_wait();
  return wait && !wait->kernel_stack.empty() && !is_in_call(wait->kernel_stack);
}

void CpuHolders::add(std::map<Pair, std::uint64_t>& pairs, const Pair& pair, std::uint64_t ns) {
  if (ns == 0) return;
  const auto known = pairs.find(pair);
  if (known != pairs.end()) {
    known->second += ns;
  } else if (kept_ < pairs_max) {
    pairs[pair] = ns;
    ++kept_;
  } else {
    left_out_ns_ += ns;
  }
}

void CpuHolders::add(const Finding& finding, const WhySampling::Class& of) {
  if (!has_own_waits(finding)) return;
  const std::uint32_t waiter = finding.thread.tid;
  for (const Wait& wait : finding.waits) {
    const std::uint64_t waited_ns = ready_ns(wait);
    std::uint64_t ran_ns = 0;
    for (const CpuShare& share : wait.ran.threads) ran_ns += share.ns;
    for (const CpuShare& share : wait.ran.threads)
      add(pairs_[of], {waiter, share.thread.tid, wait.could_run()},
          ran_ns > waited_ns ? part_of(share.ns, waited_ns, ran_ns) : share.ns);
    if (ran_ns < waited_ns)
      add(pairs_[of], {waiter, std::nullopt, wait.could_run()}, waited_ns - ran_ns);
  }
}

std::vector<WaitBehind> CpuHolders::waits(const WhySampling& sampling) const {
  std::vector<WaitBehind> all;
  for (const auto& [of, pairs] : pairs_) {
    const double weight = sampling.weight(of);
    for (const auto& [pair, ns] : pairs) {
      const auto& [waiter, holder, was_preempted] = pair;
      all.push_back({waiter, holder, was_preempted, static_cast<double>(ns) * weight});
    }
  }
  return all;
}

void find_others_waits(std::vector<WhyRow>& rows, Whose by, const std::vector<OffcpuRow>& threads,
                       bool all_apart, const std::vector<WaitBehind>& waits) {
  Holders holders(rows, by, threads, all_apart);
  holders.add_examined(waits);
  holders.add_sums_of_kernel(threads);
  const std::vector<OthersWaits> all = holders.result();
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].others = all[i];
}

}  // namespace overdue
