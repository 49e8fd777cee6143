#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "core/sink.h"
#include "trace/chunk.h"

namespace overdue {

/// Writes a trace file (docs/trace-format.md) front to back; a pipe will do. One thread. Flushed
/// records stay readable whatever happens later; others are lost with the writer. Every member
/// throws Error if the file cannot take the bytes (no space, closed pipe: the caller ignores
/// SIGPIPE), and at each later call.
class TraceWriter final : public Sink {
 public:
  /// Owns `file`. `schemas` describe all kinds of record that will be written; they must outlive
  /// the writer. `name` is for messages.
  TraceWriter(Fd file, std::span<const Schema* const> schemas,
              std::string_view name = "the recording");

  /// Writes schemas and `info` at once: a recording that is killed a moment later can be opened.
  void begin(const SessionInfo& info) override;
  /// Appends to the current chunk, which is written at 256 KiB. The size in the record's header
  /// must not exceed the size of the record.
  void record(const Record& record) override;
  /// Writes the final info, the receipt and END; then closes the file, which is when a full disk
  /// may be reported. The last call.
  void end(const SessionInfo& info, const Receipt& receipt) override;

  /// Writes the current chunk. Call about once a second: a kill then loses at most one second.
  void flush();

  /// Bytes written so far.
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  void put_schemas();
  void put_records();
  void put_chunk(trace_format::ChunkType type, std::span<const std::byte> raw,
                 std::uint32_t record_count = 0);
  void write_out();
  [[noreturn]] void fail(int code);

  Fd file_;
  std::vector<const Schema*> schemas_;
  std::string name_;
  Packer packer_;
  Bytes records_;  // of the current chunk, raw
  std::uint32_t record_count_ = 0;
  std::uint64_t records_before_ = 0;
  std::uint32_t sequence_ = 0;
  Bytes out_;  // chunks not yet written to the file
  std::uint64_t bytes_written_ = 0;
  bool begun_ = false;
  bool failed_ = false;
};

}  // namespace overdue
