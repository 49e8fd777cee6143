#pragma once

#include <vector>

#include "core/latency_table.h"
#include "core/sink.h"

namespace overdue::fixture {

// Hand-made measurements for the golden tests. Names are as hostile as the kernel lets them be: a
// newline, an escape sequence, quotes, a comma, invalid UTF-8.

/// `git status`, spawned, on a machine called testbox.
SessionInfo session();

/// Nothing lost.
Receipt receipt();
/// Lost for two reasons.
Receipt lossy_receipt();

/// By system call: errors, a call that never returns, unfinished calls.
LatencyTable table();
/// By process, thread and container, from a two-phase run: late rows, calls not timed.
LatencyTable grouped_table();
/// The first and the second interval of the session.
LatencyTable interval(int number);

/// A record's bytes with their schema; hand to a sink as record().
class StoredRecord {
 public:
  StoredRecord(const Schema& schema, std::vector<std::byte> bytes)
      : schema_(schema), bytes_(std::move(bytes)) {}
  Record record() const { return {&schema_, bytes_}; }

 private:
  const Schema& schema_;
  std::vector<std::byte> bytes_;
};

/// Calls as `--calls` sees them: a success, an error, an address, an interrupted one, one that
/// never returned.
std::vector<StoredRecord> calls();
/// Records of a schema without words of its own.
std::vector<StoredRecord> plain_records();

/// The schemas of those records.
std::vector<const Schema*> schemas();

}  // namespace overdue::fixture
