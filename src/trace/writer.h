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

/// Writes a trace file (docs/trace-format.md) front to back; a pipe will do. Used from one thread.
/// What was flushed is readable whatever happens next; what was not is lost with the writer. Every
/// member throws Error when the file cannot take the bytes (no space, closed pipe: the caller
/// ignores SIGPIPE), and from then on always.
class TraceWriter final : public Sink {
 public:
  /// Owns `file`. `schemas` describe every kind of record that will come; they must outlive the
  /// writer. `name` is for messages.
  TraceWriter(Fd file, std::span<const Schema* const> schemas,
              std::string_view name = "the recording");

  /// Writes schemas and `info` at once: a recording that is killed a moment later can be opened.
  void begin(const SessionInfo& info) override;
  /// Appends to the current chunk; written when 256 KiB have gathered. The record must have a
  /// header whose size is that of the record or less.
  void record(const Record& record) override;
  /// Final info, receipt and END; then closes the file, which may be where the disk says that it is
  /// full. The last call.
  void end(const SessionInfo& info, const Receipt& receipt) override;

  /// Writes the records that have gathered; to be called about once a second, so that a kill loses
  /// no more.
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
  Bytes out_;  // chunks on their way to the file
  std::uint64_t bytes_written_ = 0;
  bool begun_ = false;
  bool failed_ = false;
};

}  // namespace overdue
