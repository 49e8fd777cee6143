#include "live/record_limit.h"

#include <algorithm>
#include <bit>

namespace overdue {
namespace {

/// With its user stack, a late operation costs as much as so many waits.
constexpr std::uint64_t waits_per_span = 4;
/// If there are several times too many records, as many doublings at once. A short burst must not
/// hide everything that follows.
constexpr int most_doublings = 3;

}  // namespace

int RecordLimit::doublings(const Counts& counts) {
  const std::uint64_t cost = counts.records + (waits_per_span - 1) * counts.late + counts.lost;
  const std::uint64_t most = waits_per_span * records_per_count;
  return cost <= most ? 0 : std::min(static_cast<int>(std::bit_width(cost / most)), most_doublings);
}

void RecordLimit::examine_less(int doublings, std::optional<Duration>& threshold) {
  for (; doublings > 0; --doublings) {
    if (wait_part_ > 1)
      wait_part_ /= 2;
    else if (threshold && *threshold < highest_threshold)
      threshold = 2 * *threshold;
  }
}

}  // namespace overdue
