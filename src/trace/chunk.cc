#include "trace/chunk.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <xxhash.h>
#include <zstd.h>

namespace overdue {
namespace {

constexpr int compression_level = 1;  // higher levels cannot keep up with a busy machine

constexpr std::size_t file_check_offset = 12;
constexpr std::size_t header_check_offset = 40;

}  // namespace

std::uint64_t trace_check(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::array<std::byte, trace_format::file_header_size> FileHeader::encode() const {
  std::array<std::byte, trace_format::file_header_size> bytes{};
  std::memcpy(bytes.data(), trace_format::magic.data(), trace_format::magic.size());
  const std::span<std::byte> out(bytes);
  store(out.subspan(8), major);
  store(out.subspan(10), minor);
  store(out.subspan(file_check_offset),
        static_cast<std::uint32_t>(trace_check(out.first(file_check_offset))));
  return bytes;
}

std::optional<FileHeader> FileHeader::decode(
    std::span<const std::byte, trace_format::file_header_size> bytes) {
  if (std::memcmp(bytes.data(), trace_format::magic.data(), trace_format::magic.size()) != 0)
    return std::nullopt;
  if (get<std::uint32_t>(bytes, file_check_offset) !=
      static_cast<std::uint32_t>(trace_check(bytes.first(file_check_offset))))
    return std::nullopt;
  return FileHeader{get<std::uint16_t>(bytes, 8), get<std::uint16_t>(bytes, 10)};
}

std::array<std::byte, trace_format::chunk_header_size> ChunkHeader::encode() const {
  std::array<std::byte, trace_format::chunk_header_size> bytes{};
  std::memcpy(bytes.data(), trace_format::chunk_mark.data(), trace_format::chunk_mark.size());
  const std::span<std::byte> out(bytes);
  store(out.subspan(4), type);
  store(out.subspan(6), flags);
  store(out.subspan(8), stored_size);
  store(out.subspan(12), raw_size);
  store(out.subspan(16), sequence);
  store(out.subspan(20), record_count);
  store(out.subspan(24), records_before);
  store(out.subspan(32), payload_check);
  store(out.subspan(header_check_offset), trace_check(out.first(header_check_offset)));
  return bytes;
}

std::optional<ChunkHeader> ChunkHeader::decode(
    std::span<const std::byte, trace_format::chunk_header_size> bytes) {
  if (std::memcmp(bytes.data(), trace_format::chunk_mark.data(), trace_format::chunk_mark.size()) !=
      0)
    return std::nullopt;
  if (get<std::uint64_t>(bytes, header_check_offset) !=
      trace_check(bytes.first(header_check_offset)))
    return std::nullopt;
  ChunkHeader header;
  header.type = get<std::uint16_t>(bytes, 4);
  header.flags = get<std::uint16_t>(bytes, 6);
  header.stored_size = get<std::uint32_t>(bytes, 8);
  header.raw_size = get<std::uint32_t>(bytes, 12);
  header.sequence = get<std::uint32_t>(bytes, 16);
  header.record_count = get<std::uint32_t>(bytes, 20);
  header.records_before = get<std::uint64_t>(bytes, 24);
  header.payload_check = get<std::uint64_t>(bytes, 32);
  if (header.stored_size > trace_format::max_payload || header.raw_size > trace_format::max_payload)
    return std::nullopt;
  return header;
}

Packer::Packer() : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
}
Packer::~Packer() {
  ZSTD_freeCCtx(context_);
}

std::span<const std::byte> Packer::pack(std::span<const std::byte> raw, ChunkHeader& header) {
  buffer_.resize(std::max(buffer_.size(), ZSTD_compressBound(raw.size())));
  const std::size_t size = ZSTD_compressCCtx(context_, buffer_.data(), buffer_.size(), raw.data(),
                                             raw.size(), compression_level);
  const bool smaller = !ZSTD_isError(size) && size < raw.size();
  const std::span<const std::byte> stored =
      smaller ? std::span<const std::byte>(buffer_).first(size) : raw;
  header.flags = smaller ? trace_format::flag_zstd : 0;
  header.stored_size = static_cast<std::uint32_t>(stored.size());
  header.raw_size = static_cast<std::uint32_t>(raw.size());
  header.payload_check = trace_check(stored);
  return stored;
}

Unpacker::Unpacker() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}
Unpacker::~Unpacker() {
  ZSTD_freeDCtx(context_);
}

std::optional<std::span<const std::byte>> Unpacker::unpack(const ChunkHeader& header,
                                                           std::span<const std::byte> stored) {
  if (!(header.flags & trace_format::flag_zstd)) {
    if (stored.size() != header.raw_size) return std::nullopt;
    return stored;
  }
  buffer_.resize(std::max<std::size_t>(buffer_.size(), header.raw_size));
  const std::size_t size =
      ZSTD_decompressDCtx(context_, buffer_.data(), header.raw_size, stored.data(), stored.size());
  if (ZSTD_isError(size) || size != header.raw_size) return std::nullopt;
  return std::span<const std::byte>(buffer_).first(size);
}

}  // namespace overdue
