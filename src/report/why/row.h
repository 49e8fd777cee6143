#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "report/offcpu/table.h"

namespace overdue {

/// Waits in run queues, after a wake-up or a preemption, of the threads of all rows but one.
struct OthersWaits {
  std::uint64_t total_ns = 0;
  std::uint64_t behind_ns = 0;   ///< part of `total_ns` in which threads of the row had the CPU
  std::uint64_t unknown_ns = 0;  ///< part of `total_ns` in which it is unknown which thread had it
};

/// A row of where the time went. With `network_ns` and `work_ns`, the parts in `reason_ns` add up
/// to blocked_ns(): see find_purposes().
struct WhyRow : OffcpuRow {
  OthersWaits others{};
  std::uint64_t network_ns = 0;  ///< waited in sockets for the other side
  std::uint64_t work_ns = 0;     ///< waited for work
};

/// Finds the row of a thread. `rows` must outlive this object.
class RowPlaces {
 public:
  /// `threads`: all of the session, each by itself.
  RowPlaces(const std::vector<WhyRow>& rows, Whose by, const std::vector<OffcpuRow>& threads);

  /// The index of the row; none: the thread has no row of its own.
  std::optional<std::size_t> of(const Owner& thread) const;
  /// The same by the thread's tid; none too if threads of several rows had this tid.
  std::optional<std::size_t> of(std::uint32_t tid) const;
  bool has_thread(std::uint32_t tid) const { return of_tids_.contains(tid); }

 private:
  bool is_kept_apart(const Owner& owner) const;

  Whose by_;
  std::map<Owner, std::size_t> places_;
  std::map<std::uint32_t, std::optional<std::size_t>> of_tids_;
};

}  // namespace overdue
