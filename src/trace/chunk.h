#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "trace/coding.h"
#include "trace/format.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace overdue {

/// XXH3-64 with seed 0, used for all checks in a trace file.
std::uint64_t trace_check(std::span<const std::byte> bytes);

/// The 16 bytes before the first chunk.
struct FileHeader {
  std::uint16_t major = trace_format::major_version;
  std::uint16_t minor = trace_format::minor_version;

  std::array<std::byte, trace_format::file_header_size> encode() const;
  /// Empty unless magic and check are right.
  static std::optional<FileHeader> decode(
      std::span<const std::byte, trace_format::file_header_size> bytes);
};

/// The header of a payload; see docs/trace-format.md §1.
struct ChunkHeader {
  std::uint16_t type = 0;  ///< trace_format::ChunkType, or a type of a newer version
  std::uint16_t flags = 0;
  std::uint32_t stored_size = 0;
  std::uint32_t raw_size = 0;
  std::uint32_t sequence = 0;
  std::uint32_t record_count = 0;
  std::uint64_t records_before = 0;
  std::uint64_t payload_check = 0;

  bool is(trace_format::ChunkType wanted) const {
    return type == static_cast<std::uint16_t>(wanted);
  }
  std::array<std::byte, trace_format::chunk_header_size> encode() const;
  /// Empty unless mark and check are right, and both sizes within the format's limit.
  static std::optional<ChunkHeader> decode(
      std::span<const std::byte, trace_format::chunk_header_size> bytes);
};

/// Compresses payloads; reuses its context and buffer.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// The payload to store for `raw`: zstd level 1, or `raw` itself if that is not smaller. Sets
  /// flags, sizes and check in `header`. The view is valid until the next call, or as long as
  /// `raw`.
  std::span<const std::byte> pack(std::span<const std::byte> raw, ChunkHeader& header);

 private:
  ZSTD_CCtx_s* context_;
  Bytes buffer_;
};

/// Decompresses payloads; reuses its context and buffer.
class Unpacker {
 public:
  Unpacker();
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// The raw payload, exactly header.raw_size bytes; empty if `stored` decompresses to another
  /// size, or not at all. Valid until the next call, or as long as `stored`. Never needs more
  /// memory than raw_size.
  std::optional<std::span<const std::byte>> unpack(const ChunkHeader& header,
                                                   std::span<const std::byte> stored);

 private:
  ZSTD_DCtx_s* context_;
  Bytes buffer_;
};

}  // namespace overdue
