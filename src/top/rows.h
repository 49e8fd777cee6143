#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "report/offcpu/table.h"
#include "report/why/figures.h"

namespace overdue {

/// What the rows of `top` are: the groups of `why`, single threads, processes.
enum class TopBy { groups, threads, processes };

std::string_view top_by_name(TopBy by);

/// A row of `top`.
struct TopRow {
  std::string key;          ///< the same for the same threads in each refresh
  std::string name;         ///< as shown: "waiter-* ×8", "holder[12]"
  OffcpuRow sums;           ///< of the threads
  std::uint64_t late_ns{};  ///< runnable, blocked by a disk or by a cause
  /// The largest cause of the row, or null; shared by the rows that it made late.
  std::shared_ptr<const WhyCause> cause{};
  std::uint64_t cause_ns{};  ///< its time in the row
};

/// The rows of `threads`, unsorted, with the causes that `figures` found for them.
std::vector<TopRow> top_rows(const std::vector<OffcpuRow>& threads, const WhyFigures& figures,
                             TopBy by);

}  // namespace overdue
