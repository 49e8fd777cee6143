#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/latency_table.h"
#include "core/members.h"

namespace overdue {

/// Figures of one row of a LatencyTable, for all formats; 0 if no span ended. A sink keeps figures
/// instead of the table: figures are small, and marks need the loss, which is known only at the
/// end.
struct RowFigures {
  RowFigures() : RowFigures(LatencyRow{}) {}
  explicit RowFigures(const LatencyRow& row);

  /// Whether the percentile stays in its bucket even if all `lost` spans belong to this row. Also
  /// considers spans of this row that were counted but not timed.
  bool certain(const Histogram::Quantile& quantile, std::uint64_t lost) const {
    return quantile.certain(lost + untimed);
  }
  /// Whether all percentiles are certain.
  bool complete(std::uint64_t lost) const {
    return certain(p50, lost) && certain(p95, lost) && certain(p99, lost);
  }

  std::string name;
  std::uint32_t id;
  std::optional<std::string> span;
  std::optional<ProcessKey> process;
  std::optional<ThreadKey> thread;
  std::optional<Owner> owner;
  std::uint64_t processes;
  std::optional<std::string> container;
  std::optional<std::string> library;
  std::optional<std::string> caller;
  std::uint64_t calls;
  std::uint64_t errors;
  std::uint64_t unreturned;
  bool late;
  std::uint64_t untimed;
  std::uint64_t refused;
  std::uint64_t timed;  ///< number of spans in the figures below
  std::uint64_t total_ns;
  std::uint64_t min_ns;
  std::uint64_t avg_ns;
  Histogram::Quantile p50, p95, p99;
  std::uint64_t max_ns;
  std::uint64_t stddev_ns;
  std::vector<Bucket> buckets;  ///< non-empty buckets with bounds, in order
  std::vector<std::pair<std::string, std::uint64_t>> errnos;
};

/// Sorts open spans: oldest first, then by name and thread.
std::vector<OpenSpan> oldest_first(std::vector<OpenSpan> spans);

/// Figures of a LatencyTable.
struct TableFigures {
  explicit TableFigures(const LatencyTable& table);

  bool complete(std::uint64_t lost) const;

  std::string title;
  GroupBy by;
  bool show_histograms;
  std::uint64_t wall_ns;
  std::vector<RowFigures> rows;
  std::vector<OpenSpan> unfinished;  ///< oldest first
};

}  // namespace overdue
