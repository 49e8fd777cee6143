#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/latencies.h"
#include "core/section.h"
#include "core/session_info.h"
#include "report/stalls/percentile.h"
#include "report/stalls/thresholds.h"

namespace overdue {

/// Operations that have one threshold if it is a percentile: a kind of span, a native system call,
/// or a user span. SPAN_SYSCALL without a number has the calls beyond the table, and 32-bit calls.
struct MeasuredKind {
  span_kind span = SPAN_NONE;
  std::optional<std::uint32_t> call{};
  std::string pair{};

  auto operator<=>(const MeasuredKind&) const = default;
};

/// The percentile that is the threshold of these operations; empty: they have a time, or nothing.
std::optional<Percentile> percentile_of(const Thresholds& thresholds, const MeasuredKind& kind);

/// A threshold that is a percentile, at the end of a session.
struct ChosenRow {
  std::string_view span;  ///< kind: "syscall", "block"
  std::string name;       ///< system call or user span, else the kind; raw
  Percentile asked{}, used{};
  std::uint64_t threshold_ns = 0;  ///< 0: none
  std::uint64_t operations = 0;    ///< without `idle`
  std::uint64_t idle = 0;
};

/// The thresholds that a session chose, from its records, live or from a file. Bounded: of a kind,
/// the last thousand choices are known. Used by one thread.
class ChosenThresholds {
 public:
  void record(const chosen_threshold& chosen);

  /// The threshold for an operation that ended at this time; 0: none had been chosen.
  std::uint64_t at(const MeasuredKind& kind, std::uint64_t time_ns) const;
  /// The shortest threshold of `span`, or of one of its calls, so far; 0: none.
  std::uint64_t least_of(span_kind span) const;

  /// Most operations first.
  std::vector<ChosenRow> rows(const Names& names) const;

 private:
  struct Choices {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> from;  ///< time and threshold, in order
    chosen_threshold last{};
  };
  std::map<MeasuredKind, Choices> kinds_;
  std::map<span_kind, std::uint64_t> least_;
};

/// The percentiles of a report of stalls.
class ChosenSection final : public Section {
 public:
  ChosenSection() = default;
  /// `top`: rows of text; 0: the default.
  ChosenSection(std::vector<ChosenRow> rows, std::size_t top) : rows_(std::move(rows)), top_(top) {}

  void members(Members& member, const ReportContext&) const override;
  std::string text(const ReportContext& context) const override;

 private:
  std::vector<ChosenRow> rows_;
  std::size_t top_ = 0;
};

}  // namespace overdue
