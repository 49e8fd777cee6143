#include "core/latency_table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <tuple>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"

namespace overdue {
namespace {

struct Column {
  std::string_view name;
  std::uint64_t (*value)(const LatencyRow&);
};

constexpr std::array columns{
    Column{"total", [](const LatencyRow& row) { return row.latency.total_ns(); }},
    Column{"calls", [](const LatencyRow& row) { return row.calls(); }},
    Column{"count", [](const LatencyRow& row) { return row.calls(); }},
    Column{"errors", [](const LatencyRow& row) { return row.errors; }},
    Column{"avg", [](const LatencyRow& row) { return row.latency.mean_ns(); }},
    Column{"p50", [](const LatencyRow& row) { return row.latency.quantile_ns(0.50); }},
    Column{"p95", [](const LatencyRow& row) { return row.latency.quantile_ns(0.95); }},
    Column{"p99", [](const LatencyRow& row) { return row.latency.quantile_ns(0.99); }},
    Column{"max", [](const LatencyRow& row) { return row.latency.max_ns(); }},
    // Equal for all rows: ties are sorted by name.
    Column{"name", [](const LatencyRow&) { return std::uint64_t{0}; }},
};

const Column& find_column(std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  if (found != columns.end()) return *found;
  std::vector<std::string_view> names;
  for (const Column& column : columns) names.push_back(column.name);
  const std::string_view near = nearest(name, names);
  std::string hint = fmt::format("sort by {}", fmt::join(names, ", "));
  if (!near.empty()) hint = fmt::format("did you mean '{}'? ", near) + hint;
  throw Error("cannot sort by '{}': no such column", printable(name))
      .hint(std::move(hint))
      .exit_status(2);
}

}  // namespace

void sort_rows(LatencyTable& table, const std::string& column, std::size_t top) {
  const Column& by = find_column(column);
  std::vector<LatencyRow>& rows = table.rows;
  // Each value is computed once, since a quantile takes a pass over the buckets; each row is moved
  // once, since rows are large.
  std::vector<std::uint64_t> values(rows.size());
  std::ranges::transform(rows, values.begin(), by.value);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (values[a] != values[b]) return values[a] > values[b];
    const auto tie = [](const LatencyRow& row) {
      return std::tie(row.name, row.process, row.thread, row.owner, row.container, row.library,
                      row.caller, row.id);
    };
    return tie(rows[a]) < tie(rows[b]);
  });
  if (top != 0 && order.size() > top) order.resize(top);
  std::vector<LatencyRow> sorted;
  sorted.reserve(order.size());
  for (const std::size_t index : order) sorted.push_back(std::move(rows[index]));
  rows = std::move(sorted);
}

}  // namespace overdue
