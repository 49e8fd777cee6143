#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/latency_table.h"

namespace overdue {

/// What any format says about one row of a LatencyTable; 0 where no span ended. A sink keeps
/// figures, not the table: they are small, and marks can only be set at the end, when the loss is
/// known.
struct RowFigures {
  struct Bucket {
    std::uint64_t low_ns;
    std::uint64_t high_ns;  ///< not included; UINT64_MAX for the last bucket of all
    std::uint64_t count;
  };

  explicit RowFigures(const LatencyRow& row);

  /// Whether `lost` spans, of this row for all we know, leave the percentile in its bucket. Spans
  /// of this row that were counted but not timed are taken into account.
  bool certain(const Histogram::Quantile& quantile, std::uint64_t lost) const {
    return quantile.certain(lost + untimed);
  }
  /// Whether that holds for all percentiles.
  bool complete(std::uint64_t lost) const {
    return certain(p50, lost) && certain(p95, lost) && certain(p99, lost);
  }

  std::string name;
  std::uint32_t id;
  std::optional<ProcessKey> process;
  std::optional<ThreadKey> thread;
  std::optional<std::string> container;
  std::optional<std::string> library;
  std::optional<std::string> caller;
  std::uint64_t calls;
  std::uint64_t errors;
  std::uint64_t unreturned;
  bool late;
  std::uint64_t untimed;
  std::uint64_t refused;
  std::uint64_t timed;  ///< spans behind the figures below
  std::uint64_t total_ns;
  std::uint64_t min_ns;
  std::uint64_t avg_ns;
  Histogram::Quantile p50, p95, p99;
  std::uint64_t max_ns;
  std::uint64_t stddev_ns;
  std::vector<Bucket> buckets;  ///< those that are not empty, in order
  std::vector<std::pair<std::string, std::uint64_t>> errnos;
};

/// The order in which open spans are listed: by age, then by name and thread.
std::vector<OpenSpan> oldest_first(std::vector<OpenSpan> spans);

/// A LatencyTable in figures.
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
