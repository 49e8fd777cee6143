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

/// Reads a trace file (docs/trace-format.md), whatever state it is in: content never makes it crash
/// or allocate more than about 200 MB, and nothing but a file that is no recording, or of a newer
/// major format, makes the constructor throw (Error, also when the disk fails). Used from one
/// thread.
class TraceReader {
 public:
  /// Owns `file`; reads all of it once, to verify it. `known` are the schemas this program has code
  /// for (probes' schemas); they must outlive the reader. `name` is for messages.
  explicit TraceReader(Fd file, std::span<const Schema* const> known = {},
                       std::string_view name = "the recording");
  /// Reads `bytes`, which must outlive the reader.
  explicit TraceReader(std::span<const std::byte> bytes, std::span<const Schema* const> known = {});
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  /// What was measured; in `notes`, at the end, a sentence for everything that is missing or
  /// damaged. Blank where the file no longer says.
  const SessionInfo& info() const { return info_; }
  /// The recorder came to its end: nothing is missing but what damage() names.
  bool complete() const { return saw_end_ || receipt_.has_value(); }
  /// Places that could not be used, in file order; after replay() also what only decoding shows.
  std::vector<Damage> damage() const;

  /// Calls begin, record for every record in file order, end. A record's schema is one of `known`,
  /// or, for kinds not among them, the file's own, which lives as long as the reader. The receipt
  /// of end() is the file's plus lost_by["file_damaged"], ["file_cut"] (at least 1: a lower bound)
  /// and ["unknown_kind"] where they are not 0; where the file has none, its events are the records
  /// delivered, and the duration of a cut recording lasts to its last record. What is no longer
  /// there because the file has changed since it was verified is counted as damaged. May be called
  /// again.
  void replay(Sink& sink);

 private:
  // How records of one kind are delivered.
  struct Kind {
    const Schema* schema;
    std::uint16_t fixed_size;  // in this file; 0: as in *schema
  };
  // What one replay has seen.
  struct Replay {
    std::uint64_t delivered = 0;
    std::uint64_t found = 0;  // records in chunks that were there
    std::uint64_t damaged = 0;
    std::map<std::uint16_t, std::uint64_t> unknown;  // kind → records
    std::uint64_t last_time_ns = 0;
    bool changed = false;  // the file is not the one that was verified
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
  Bytes adapted_;  // a record of another version, brought into the form its schema has here

  SessionInfo info_;
  std::optional<Receipt> receipt_;
  std::map<std::uint16_t, std::unique_ptr<const OwnedSchema>> file_schemas_;
  std::map<std::uint16_t, Kind> kinds_;
  std::vector<Damage> open_damage_;
  std::vector<Damage> replay_damage_;
  bool saw_end_ = false;
  bool header_cut_ = false;
  std::uint64_t skipped_chunks_ = 0;   // of types or with flags we do not know
  std::uint64_t skipped_records_ = 0;  // in them
  std::uint64_t records_found_ = 0;    // in good chunks
  std::uint64_t records_damaged_ = 0;
  std::uint64_t records_cut_ = 0;
};

}  // namespace overdue
