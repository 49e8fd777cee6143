#include "sinks/figures.h"

#include <algorithm>
#include <tuple>

namespace overdue {

RowFigures::RowFigures(const LatencyRow& row)
    : name(row.name),
      id(row.id),
      span(row.span),
      process(row.process),
      thread(row.thread),
      owner(row.owner),
      processes(row.processes),
      container(row.container),
      library(row.library),
      caller(row.caller),
      calls(row.calls()),
      errors(row.errors),
      unreturned(row.unreturned),
      late(row.late),
      untimed(row.untimed),
      refused(row.refused),
      timed(row.latency.count()),
      total_ns(row.latency.total_ns()),
      min_ns(row.latency.min_ns()),
      avg_ns(row.latency.mean_ns()),
      p50(row.latency.quantile(0.50)),
      p95(row.latency.quantile(0.95)),
      p99(row.latency.quantile(0.99)),
      max_ns(row.latency.max_ns()),
      stddev_ns(row.latency.stddev_ns()),
      errnos(row.errnos) {
  for (std::uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; ++bucket) {
    if (const std::uint64_t count = row.latency.bucket_count(bucket))
      buckets.push_back(
          {Histogram::bucket_low_ns(bucket), Histogram::bucket_high_ns(bucket), count});
  }
}

std::vector<OpenSpan> oldest_first(std::vector<OpenSpan> spans) {
  std::ranges::sort(spans, [](const OpenSpan& a, const OpenSpan& b) {
    return std::tie(b.age_ns, a.name, a.tid) < std::tie(a.age_ns, b.name, b.tid);
  });
  return spans;
}

TableFigures::TableFigures(const LatencyTable& table)
    : title(table.title),
      by(table.by),
      show_histograms(table.show_histograms),
      wall_ns(table.wall.count()),
      rows(table.rows.begin(), table.rows.end()),
      unfinished(oldest_first(table.unfinished)) {}

bool TableFigures::complete(std::uint64_t lost) const {
  return lost == 0 &&
         std::ranges::all_of(rows, [](const RowFigures& row) { return row.complete(0); });
}

}  // namespace overdue
