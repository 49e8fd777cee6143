#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/byte_source.h"
#include "trace/chunk.h"

namespace overdue {

/// A part of a trace file that could not be used.
struct Damage {
  std::uint64_t offset = 0;  ///< offset of its first byte in the file
  std::uint64_t bytes = 0;
  std::string what;  ///< "chunk header unreadable", …
};

/// Appends `damage`; all parts beyond the first thousand become one entry.
void add_damage(std::vector<Damage>& list, Damage damage);

/// Walks the chunks of a trace file from front to back, across damage. Time is linear in the size
/// of the file, and memory is bounded by one payload and a thousand entries of damage, whatever the
/// file contains.
class ChunkScanner {
 public:
  /// `source` is borrowed.
  explicit ChunkScanner(const ByteSource& source) : source_(source) {}

  struct Chunk {
    std::uint64_t offset;
    ChunkHeader header;
    std::span<const std::byte> stored;  ///< checked, not decompressed; valid until the next call
  };
  /// The next good chunk, the last one being END; empty after it.
  std::optional<Chunk> next();

  // The following are complete once next() has returned an empty optional.
  const std::vector<Damage>& damage() const { return damage_; }
  bool saw_end() const { return saw_end_; }
  /// If the file ends within a chunk (or the file header): the number of bytes of that chunk in it.
  std::uint64_t cut_bytes() const { return cut_bytes_; }
  /// Records known to be in the part that was cut off.
  std::uint64_t records_cut() const { return records_cut_; }
  /// Records known to be in unusable chunks, except those cut off.
  std::uint64_t records_damaged() const { return records_damaged_; }

 private:
  std::optional<ChunkHeader> header_at(std::uint64_t offset) const;
  std::uint64_t find_mark(std::uint64_t from) const;
  void skip_unreadable_header();
  void accept(const ChunkHeader& header);
  void finish();

  const ByteSource& source_;
  std::uint64_t position_ = trace_format::file_header_size;
  std::optional<std::uint32_t> last_sequence_;
  std::uint64_t records_seen_end_ = 0;   ///< index after the last record of a good chunk
  std::uint64_t records_known_end_ = 0;  ///< … of any chunk with a readable header
  bool finished_ = false;
  bool saw_end_ = false;
  std::uint64_t cut_bytes_ = 0;
  std::uint64_t records_cut_ = 0;
  std::uint64_t records_damaged_ = 0;
  std::vector<Damage> damage_;
  Bytes stored_;
};

}  // namespace overdue
