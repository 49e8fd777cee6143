#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "sinks/text_format.h"
#include "sinks/text_table.h"

namespace overdue {
namespace {

constexpr std::uint32_t lines_max = 20;
constexpr std::uint64_t bar_width = 40;

/// Buckets per line: a power of two, so that bounds stay round numbers of buckets and, from 16 up,
/// powers of two.
std::uint32_t buckets_per_line(std::uint32_t first, std::uint32_t last) {
  std::uint32_t step = 1;
  while (last / step - first / step >= lines_max) step *= 2;
  return step;
}

}  // namespace

void draw_histogram(Output& output, const RowFigures& row) {
  if (row.buckets.empty()) return;
  const std::uint32_t first = histogram_bucket(row.buckets.front().low_ns);
  const std::uint32_t last = histogram_bucket(row.buckets.back().low_ns);
  const std::uint32_t step = buckets_per_line(first, last);

  std::vector<std::uint64_t> counts(last / step - first / step + 1);
  for (const Bucket& bucket : row.buckets)
    counts[histogram_bucket(bucket.low_ns) / step - first / step] += bucket.count;
  const std::uint64_t largest = std::ranges::max(counts);

  for (std::size_t line = 0; line < counts.size(); ++line) {
    const std::uint32_t begin = (first / step + static_cast<std::uint32_t>(line)) * step;
    const std::uint32_t end = std::min<std::uint32_t>(begin + step, HISTOGRAM_BUCKETS);
    const double share = static_cast<double>(counts[line]) / static_cast<double>(largest);
    auto bar = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(bar_width)));
    if (counts[line] > 0) bar = std::max<std::uint64_t>(bar, 1);  // shows one call in a million
    const std::uint64_t high = Histogram::bucket_high_ns(end - 1);
    output.append(fmt::format("  {:>6} to {:<6} |{:<{}}| {}\n",
                              duration_text(Histogram::bucket_low_ns(begin)),
                              high == UINT64_MAX ? "more" : duration_text(high),
                              std::string(bar, '#'), bar_width, grouped(counts[line])));
  }
}

}  // namespace overdue
