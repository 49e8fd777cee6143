#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/stall_assembler.h"
#include "core/latency_table.h"
#include "core/sink.h"
#include "core/span_schema.h"
#include "core/stack_namer.h"

namespace overdue {

/// The content of a table of spans: the same for `spans` and `report`.
struct SpanViewOptions {
  std::vector<span_kind> kinds = {};     ///< without system calls, which `syscalls` shows
  std::vector<std::uint32_t> cpus = {};  ///< CPUs on which waits have to end; empty: all
  bool by_thread = false;
  std::string sort = "total";
  std::size_t top = 0;  ///< 0: all rows
  bool histograms = false;

  /// Throws Error (exit status 2) for an unknown column.
  void check() const;
};

/// Counts spans by kind and name, from records, live or from a file. One thread.
class SpanView {
 public:
  /// `namer` names functions and threads, and must outlive this object, as must `sink`.
  SpanView(SpanViewOptions options, StackNamer& namer, Sink& sink);

  void begin(const SessionInfo& info);
  void record(const Record& record);
  /// As MeasureListener::tick().
  void tick(KernelTime now);
  /// Ends an interval: shows the spans since the last interval.
  void interval(const SessionInfo& info, Duration wall);
  void finish() { assembler_.finish(); }
  void end(SessionInfo info, const Receipt& receipt);

 private:
  struct Key {
    std::string span;
    std::string name;
    std::optional<std::uint32_t> tid;
    auto operator<=>(const Key&) const = default;
  };
  using Rows = std::map<Key, LatencyRow>;

  bool wants(span_kind kind) const;
  void add(const RawStall& span);
  void add_sum(const span_sum& sum);
  template <typename Change>
  void change_rows(const Key& key, const Change& change);
  LatencyRow& row_of(Rows& rows, const Key& key);
  LatencyTable table(const Rows& rows, Duration wall) const;

  SpanViewOptions options_;
  StackNamer& namer_;
  Sink& sink_;
  StallAssembler assembler_;
  Rows total_, since_last_;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< of threads: the last one of each
  std::vector<OpenSpan> open_;
  std::uint64_t open_omitted_ = 0;
  std::uint64_t unknown_ = 0;  ///< spans of kinds of newer versions
  bool intervals_ = false;
  bool names_omitted_ = false;
};

}  // namespace overdue
