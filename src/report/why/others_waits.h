#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "report/offcpu/table.h"
#include "report/why/row.h"
#include "report/why/sampling.h"

namespace overdue {

/// Time in which one thread waited in a run queue and another one had the CPU.
struct WaitBehind {
  std::uint32_t waiter = 0;               ///< tid
  std::optional<std::uint32_t> holder{};  ///< likewise; 0: the CPU idled; none: not known
  bool was_preempted = false;             ///< the wait began with a preemption, not with a wake-up
  double ns = 0;
};

/// The threads that had a CPU while others waited for it, of the operations that were examined.
/// Memory is bounded; used by one thread.
class CpuHolders {
 public:
  void add(const Finding& finding, const WhySampling::Class& of);

  /// With the weights of `sampling`.
  std::vector<WaitBehind> waits(const WhySampling& sampling) const;
  /// Time of pairs of threads that are too many to keep apart.
  std::uint64_t left_out_ns() const { return left_out_ns_; }

 private:
  /// As in WaitBehind.
  using Pair = std::tuple<std::uint32_t, std::optional<std::uint32_t>, bool>;
  void add(std::map<Pair, std::uint64_t>& pairs, const Pair& pair, std::uint64_t ns);

  std::map<WhySampling::Class, std::map<Pair, std::uint64_t>> pairs_;
  std::size_t kept_ = 0;
  std::uint64_t left_out_ns_ = 0;
};

/// Whether the waits of the finding are in no other finding: those within a late call are the
/// call's.
bool has_own_waits(const Finding& finding);

/// Sets the waits of the others, of each row. The totals are exact. Waits that were not examined
/// count for the thread that took the CPU, if they began with a preemption. `threads`: all of the
/// session, each by itself; without `all_apart`, those that have ended may be added up.
void find_others_waits(std::vector<WhyRow>& rows, Whose by, const std::vector<OffcpuRow>& threads,
                       bool all_apart, const std::vector<WaitBehind>& waits);

}  // namespace overdue
