#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/histogram.h"
#include "core/whose.h"

namespace overdue {

/// The keys that group rows, besides the name.
struct GroupBy {
  bool span = false;  ///< by kind of span: the table has spans of several kinds, not system calls
  bool process = false;
  bool thread = false;
  bool name = false;
  bool cgroup = false;
  bool parent = false;
  bool container = false;
  bool library = false;
  bool caller = false;
  bool needs_callers() const { return library || caller; }
  bool needs_threads() const { return process || thread || container || has_owners(); }
  /// Whether the keys of LatencyRow::owner are among them.
  bool has_owners() const { return name || cgroup || parent; }
  bool operator==(const GroupBy&) const = default;
};

struct ProcessKey {
  std::uint32_t pid;
  std::string comm;
  auto operator<=>(const ProcessKey&) const = default;
};
struct ThreadKey {
  std::uint32_t tid;
  std::string comm;
  auto operator<=>(const ThreadKey&) const = default;
};

/// One line of a latency report: one kind of span, for one group.
struct LatencyRow {
  std::string name;                 ///< "openat", "i386:open", "syscall_999"
  std::uint32_t id = 0;             ///< number of the system call, or of the kind of span
  std::optional<std::string> span;  ///< kind of the span: "irq"
  std::optional<ProcessKey> process;
  std::optional<ThreadKey> thread;
  std::optional<Owner> owner;   ///< what is common by name, cgroup and parent
  std::uint64_t processes = 0;  ///< different processes of this owner
  std::optional<std::string> container;
  std::optional<std::string> library;  ///< library of the function that made the calls: "libc.so.6"
  std::optional<std::string> caller;   ///< name of that function

  Histogram latency;  ///< spans that ended
  std::uint64_t unreturned =
      0;  ///< spans that never end: the thread exited inside (exit_group, a kill)
  std::uint64_t failed = 0;  ///< of these: ended with an exit status that is not 0
  std::uint64_t errors = 0;
  std::vector<std::pair<std::string, std::uint64_t>> errnos;  ///< name → count, most frequent first
  bool late = false;          ///< first seen after the discovery phase of a two-phase run
  std::uint64_t untimed = 0;  ///< spans counted but not timed: no hook saw them end

  std::uint64_t refused = 0;  ///< spans that never began: seccomp or a tracer answered the calls

  std::uint64_t calls() const { return latency.count() + unreturned + untimed + refused; }
};

/// A span that is open at the end of the session.
struct OpenSpan {
  std::string name;
  std::uint32_t tid = 0;
  std::string comm;
  std::uint64_t age_ns = 0;
  bool older = false;  ///< began before the session: age_ns is a lower bound
};

/// A latency report: rows and open spans. `title` is the JSON key of the rows ("syscalls",
/// "spans").
struct LatencyTable {
  std::string title;
  GroupBy by;
  bool show_histograms = false;  ///< text output draws each row's distribution
  Duration wall{};               ///< time covered by the rows: the interval or the whole session
  std::vector<LatencyRow> rows;
  std::vector<OpenSpan> unfinished;
};

/// Sorts rows by `column` ("total", "calls", "errors", "avg", "p50", "p95", "p99", "max", "name"),
/// largest first ("name": alphabetically; ties by name), and keeps the first `top` (0: all). Throws
/// Error for an unknown column.
void sort_rows(LatencyTable& table, const std::string& column, std::size_t top);

}  // namespace overdue
