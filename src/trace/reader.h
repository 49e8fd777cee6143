#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "core/sink.h"
#include "trace/byte_source.h"
#include "trace/chunk_scanner.h"
#include "trace/codec.h"

namespace overdue {

/// Reads a trace file (docs/trace-format.md), in any state: no content makes it crash, or allocate
/// more than about 200 MB. The constructor throws Error only if the file is no recording, or has a
/// newer major format, or if the disk fails. One thread.
class TraceReader {
 public:
  /// Owns `file`; reads all of it once, to verify it. `known` are the schemas for which this
  /// program has code (those of probes); they must outlive the reader. `name` is for messages.
  explicit TraceReader(Fd file, std::span<const Schema* const> known = {},
                       std::string_view name = "the recording");
  /// Reads `bytes`, which must outlive the reader.
  explicit TraceReader(std::span<const std::byte> bytes, std::span<const Schema* const> known = {});
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  /// The description of the measurement. The last `notes` name all missing or damaged parts, a
  /// sentence each. Fields that the file has lost are blank.
  const SessionInfo& info() const { return info_; }
  /// True if the recorder finished: only the parts in damage() are missing.
  bool complete() const { return saw_end_ || receipt_.has_value(); }
  /// Unusable parts in file order; after replay(), also damage that only decoding shows.
  std::vector<Damage> damage() const;

  /// Calls begin, then record for every record in file order, then end. The schema of a record is
  /// one of `known` or, for other kinds, the file's own, which lives as long as the reader. The
  /// receipt of end() is the file's plus lost_by["file_damaged"], ["file_cut"] (at least 1: a lower
  /// bound) and ["unknown_kind"], unless 0. If the file has no receipt, `events` is the number of
  /// delivered records; the duration of a cut recording lasts to its last record. Records that have
  /// vanished because the file changed after its verification count as damaged. May be called
  /// again.
  void replay(Sink& sink);

 private:
  // The delivery of records of one kind.
  struct Kind {
    const Schema* schema;
    std::uint16_t fixed_size;  // in this file; 0: as in *schema
  };
  // The results of one replay.
  struct Replay {
    std::uint64_t delivered = 0;
    std::uint64_t found = 0;  // records in chunks that were read
    std::uint64_t damaged = 0;
    std::map<std::uint16_t, std::uint64_t> unknown;  // kind → records
    std::uint64_t last_time_ns = 0;
    bool changed = false;  // the file has changed since it was verified
    std::vector<Damage> damage;
  };

  void check_file_header();
  void scan();
  void add_schema(const ChunkScanner::Chunk& chunk);
  void choose_schemas();
  void note_state(const ChunkScanner& scanner);
  std::optional<std::span<const std::byte>> unpack(const ChunkHeader& header, std::uint64_t offset,
                                                   std::span<const std::byte> stored,
                                                   std::vector<Damage>& damage);
  void note_changes(const ChunkScanner& scanner, Replay& state) const;
  void replay_chunk(const ChunkScanner::Chunk& chunk, Sink& sink, Replay& state);
  bool deliver(std::span<const std::byte> bytes, const Kind& kind, Sink& sink);
  SessionInfo final_info(const Replay& state) const;
  Receipt final_receipt(const Replay& state) const;

  ByteSource source_;
  std::vector<const Schema*> known_;
  std::string name_;
  Unpacker unpacker_;
  Bytes adapted_;  // a record of another version, adapted to our schema

  SessionInfo info_;
  std::optional<Receipt> receipt_;
  std::map<std::uint16_t, std::unique_ptr<const OwnedSchema>> file_schemas_;
  std::map<std::uint16_t, Kind> kinds_;
  std::vector<Damage> open_damage_;
  std::vector<Damage> replay_damage_;
  bool saw_end_ = false;
  bool header_cut_ = false;
  std::uint64_t skipped_chunks_ = 0;   // with types or flags of newer versions
  std::uint64_t skipped_records_ = 0;  // in skipped chunks
  std::uint64_t records_found_ = 0;    // in good chunks
  std::uint64_t records_damaged_ = 0;
  std::uint64_t records_cut_ = 0;
};

}  // namespace overdue
