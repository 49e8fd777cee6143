// Files that are cut, damaged, or hostile.

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "base/error.h"
#include "trace/test_support.h"

namespace overdue::trace_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using trace_format::ChunkType;

constexpr std::size_t chunk_records = 4;
constexpr std::size_t record_total = 24;

struct Piece {
  std::uint64_t begin, end;  // of a chunk in the file
  ChunkHeader header;
};

std::vector<Piece> pieces_of(const Bytes& file) {
  const ByteSource source(file);
  ChunkScanner scanner(source);
  std::vector<Piece> pieces;
  while (const auto chunk = scanner.next())
    pieces.push_back({chunk->offset,
                      chunk->offset + trace_format::chunk_header_size + chunk->header.stored_size,
                      chunk->header});
  return pieces;
}

std::vector<Bytes> numbered_records() {
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < record_total; ++i)
    records.push_back(i % 2 ? wait_record(i) : text_record(i, "text " + std::to_string(i)));
  return records;
}

std::uint64_t lost(const MemorySink& sink, const std::string& reason) {
  const auto& lost_by = sink.receipts.at(0).lost_by;
  const auto found = lost_by.find(reason);
  return found == lost_by.end() ? 0 : found->second;
}

TEST(TraceDamage, AFlippedByteLosesAtMostItsChunkAndIsReported) {
  const auto records = numbered_records();
  const Bytes good = write_trace(records, chunk_records);
  const auto pieces = pieces_of(good);
  ASSERT_EQ(pieces.size(), 2 + 1 + record_total / chunk_records + 2 + 3);
  for (std::size_t at = 0; at < good.size(); ++at) {
    const auto piece = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const Piece& p) { return p.begin <= at && at < p.end; });
    auto expected = records;
    const bool in_records = piece != pieces.end() && piece->header.is(ChunkType::records);
    if (in_records) {
      const auto first =
          expected.begin() + static_cast<std::ptrdiff_t>(piece->header.records_before);
      expected.erase(first, first + piece->header.record_count);
    }
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      TraceReader reader(bad, schemas);
      MemorySink sink;
      reader.replay(sink);
      ASSERT_EQ(sink.records, expected) << "byte " << at << " flip " << flip;
      ASSERT_EQ(lost(sink, "file_damaged"), in_records ? chunk_records : 0) << "byte " << at;
      ASSERT_EQ(lost(sink, "file_cut"), 0U) << "byte " << at;
      ASSERT_EQ(reader.info().command, "record") << "byte " << at;
      const auto damage = reader.damage();
      ASSERT_EQ(damage.size(), 1U) << "byte " << at;
      ASSERT_LE(damage[0].offset, at);
      ASSERT_GT(damage[0].offset + damage[0].bytes, at);
      ASSERT_THAT(sink.begun[0].notes, Contains(HasSubstr("is damaged in 1 place")));
    }
  }
}

TEST(TraceDamage, AFlippedByteLosesNoKindEvenIfOnlyTheFileDescribesIt) {
  const auto records = numbered_records();
  const Bytes good = write_trace(records, record_total);
  for (const Piece& piece : pieces_of(good)) {
    if (!piece.header.is(ChunkType::schema)) continue;
    Bytes bad = good;
    bad[piece.end - 1] ^= std::byte{1};
    TraceReader reader(bad);
    MemorySink sink;
    reader.replay(sink);
    EXPECT_EQ(sink.records, records);
  }
}

TEST(TraceDamage, EveryTruncationOpensAndSaysWhatIsMissing) {
  const auto records = numbered_records();
  const Bytes good = write_trace(records, chunk_records);
  const auto pieces = pieces_of(good);
  for (std::size_t length = 1; length < good.size(); ++length) {
    const auto there = std::span(good).first(length);
    std::uint64_t used =
        length < trace_format::file_header_size ? 0 : trace_format::file_header_size;
    std::uint64_t whole_records = 0;
    std::uint64_t known_missing = 0;
    bool has_receipt = false;
    for (const Piece& piece : pieces) {
      if (piece.end <= length) {
        used = piece.end;
        whole_records += piece.header.record_count;
        has_receipt = has_receipt || piece.header.is(ChunkType::receipt);
      } else if (piece.begin + trace_format::chunk_header_size <= length) {
        known_missing = piece.header.record_count;
      }
    }
    TraceReader reader(there, schemas);
    MemorySink sink;
    reader.replay(sink);
    ASSERT_EQ(sink.records.size(), whole_records) << "length " << length;
    ASSERT_TRUE(std::equal(sink.records.begin(), sink.records.end(), records.begin()));
    ASSERT_TRUE(reader.damage().empty()) << "length " << length;
    ASSERT_EQ(reader.complete(), has_receipt);
    std::string sentence = "the recording was cut short (kill -9, full disk?)";
    if (length > used)
      sentence += "; " + std::to_string(length - used) + (length - used == 1 ? " byte" : " bytes") +
                  " at the end unreadable";
    ASSERT_THAT(reader.info().notes, Contains(sentence)) << "length " << length;
    ASSERT_EQ(lost(sink, "file_cut"), has_receipt ? 0 : std::max<std::uint64_t>(known_missing, 1));
    ASSERT_EQ(lost(sink, "file_damaged"), 0U);
    if (!has_receipt) {
      ASSERT_EQ(sink.receipts[0].events, whole_records);
    }
  }
}

TEST(TraceDamage, ACutRecordingLastsToItsLastRecord) {
  const Fd file = memory_file();
  TraceWriter writer(Fd(::dup(file.get())), schemas);
  SessionInfo info = sample_info();
  info.duration = Duration{};
  writer.begin(info);
  writer.record(as_record(wait_record(2000)));
  writer.flush();
  const Bytes bytes = contents(file.get());
  TraceReader reader(bytes, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.ended[0].duration, Duration(2'000'000));
}

TEST(TraceDamage, MissingBytesInTheMiddleCostTheirChunksOnly) {
  const auto records = numbered_records();
  const Bytes good = write_trace(records, 1);
  const auto pieces = pieces_of(good);
  Bytes bad = good;
  // A hole from within record chunk 5 to within record chunk 7 (pieces: 2 schemas, info, records
  // …).
  bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(pieces[8].begin + 60),
            bad.begin() + static_cast<std::ptrdiff_t>(pieces[10].begin + 20));
  TraceReader reader(bad, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_GE(sink.records.size(), record_total - 4);
  EXPECT_EQ(sink.records.size() + lost(sink, "file_damaged"), record_total);
  EXPECT_FALSE(reader.damage().empty());
  EXPECT_TRUE(reader.complete());
}

TEST(TraceDamage, ATraceInsideADamagedTraceIsNotReadAsItsPart) {
  // The payload of a record chunk is itself a trace file; then the outer header is damaged.
  const Bytes inner = write_trace({wait_record(999)});
  const Bytes record = text_record(1, as_text(inner));
  TraceBuilder builder;
  for (int i = 0; i < 20; ++i) builder.chunk(ChunkType::records, wait_record(0), 1);
  const std::size_t at = builder.bytes().size();
  builder.chunk(ChunkType::records, record, 1);
  builder.chunk(ChunkType::records, wait_record(2), 1);
  builder.chunk(ChunkType::end, {});
  Bytes bad = builder.bytes();
  bad[at + 10] ^= std::byte{1};
  TraceReader reader(bad, schemas);
  MemorySink sink;
  reader.replay(sink);
  ASSERT_EQ(sink.records.size(), 21U);
  EXPECT_EQ(sink.records[20], wait_record(2));
  EXPECT_EQ(lost(sink, "file_damaged"), 1U);
  EXPECT_TRUE(sink.ended[0].command.empty());
}

TEST(TraceDamage, BytesBehindTheEndAreReportedAndNotRead) {
  Bytes file = write_trace({wait_record(1)});
  const std::size_t size = file.size();
  const Bytes more = write_trace({wait_record(2)});
  file.insert(file.end(), more.begin(), more.end());
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records, std::vector<Bytes>{wait_record(1)});
  ASSERT_EQ(reader.damage().size(), 1U);
  EXPECT_EQ(reader.damage()[0].offset, size);
  EXPECT_EQ(reader.damage()[0].bytes, more.size());
}

// Payloads of one RECORDS chunk with one good record and a bad end.
TEST(TraceHostile, RecordsThatLieAboutTheirSize) {
  std::vector<Bytes> bad_tails;
  for (const unsigned size : {0U, 1U, 47U, 57U, 65535U}) {
    Bytes record = wait_record(2);
    store(std::span(record).subspan(trace_format::record_size_offset),
          static_cast<std::uint16_t>(size));
    bad_tails.push_back(record);
  }
  bad_tails.push_back(Bytes(47, std::byte{0}));
  bad_tails.push_back(Bytes(1, std::byte{0}));
  for (const Bytes& tail : bad_tails) {
    const Bytes file = TraceBuilder()
                           .chunk(ChunkType::records, concatenated({wait_record(1), tail}), 2)
                           .chunk(ChunkType::records, wait_record(3), 1)
                           .chunk(ChunkType::end, {})
                           .bytes();
    TraceReader reader(file, schemas);
    MemorySink sink;
    reader.replay(sink);
    EXPECT_EQ(sink.records, (std::vector<Bytes>{wait_record(1), wait_record(3)}));
    EXPECT_EQ(lost(sink, "file_damaged"), 1U);
    ASSERT_EQ(reader.damage().size(), 1U);
    EXPECT_EQ(reader.damage()[0].offset, trace_format::file_header_size);
    EXPECT_THAT(sink.ended[0].notes, Contains(HasSubstr("could not be decoded")));
  }
}

TEST(TraceHostile, ARecordShorterThanItsSchemaIsReadWithZeros) {
  Bytes record = wait_record(1);
  record.resize(48);
  store(std::span(record).subspan(trace_format::record_size_offset), std::uint16_t{48});
  const Bytes file =
      TraceBuilder().chunk(ChunkType::records, record, 1).chunk(ChunkType::end, {}).bytes();
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  ASSERT_EQ(sink.records.size(), 1U);
  EXPECT_EQ((Record{&wait_schema, sink.records[0]}.as<wait_event>().wait_ns), 0U);
}

Bytes zstd_of(const Bytes& raw) {
  Bytes packed(ZSTD_compressBound(raw.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 19));
  return packed;
}

TEST(TraceHostile, BombsAndFalseRawSizesAreDamage) {
  const Bytes bomb = zstd_of(Bytes(200U << 20));  // 200 MB of zeros in some 20 kB
  for (const std::uint32_t raw_size : {0U, 1U, 1000U, trace_format::max_payload}) {
    for (const ChunkType type :
         {ChunkType::records, ChunkType::info, ChunkType::schema, ChunkType::receipt}) {
      ChunkHeader header;
      header.type = static_cast<std::uint16_t>(type);
      header.flags = trace_format::flag_zstd;
      header.raw_size = raw_size;
      const Bytes file = TraceBuilder()
                             .chunk(header, bomb)
                             .chunk(ChunkType::records, wait_record(1), 1)
                             .chunk(ChunkType::end, {})
                             .bytes();
      TraceReader reader(file, schemas);
      MemorySink sink;
      reader.replay(sink);
      EXPECT_EQ(sink.records.size(), 1U);
      EXPECT_EQ(reader.damage().size(), 1U) << "type " << header.type << " raw " << raw_size;
    }
  }
  ChunkHeader short_raw;
  short_raw.type = static_cast<std::uint16_t>(ChunkType::records);
  short_raw.raw_size = 55;  // not compressed, yet not the stored size
  short_raw.record_count = 1;
  const Bytes file =
      TraceBuilder().chunk(short_raw, wait_record(1)).chunk(ChunkType::end, {}).bytes();
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_TRUE(sink.records.empty());
  EXPECT_EQ(lost(sink, "file_damaged"), 1U);
}

TEST(TraceHostile, CountsThatOverflowDoNotHurt) {
  ChunkHeader header;
  header.type = static_cast<std::uint16_t>(ChunkType::records);
  header.record_count = UINT32_MAX;
  header.raw_size = 56;
  TraceBuilder builder;
  for (int i = 0; i < 3; ++i) builder.chunk(header, wait_record(1));
  Bytes file = builder.bytes();
  header.records_before = UINT64_MAX;
  header.sequence = UINT32_MAX;
  header.stored_size = 0;
  header.payload_check = trace_check({});
  header.raw_size = 0;
  const auto last = header.encode();
  file.insert(file.end(), last.begin(), last.end());
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records.size(), 3U);
  EXPECT_FALSE(reader.complete());
}

TEST(TraceHostile, NothingButHeadersWithoutEnd) {
  ChunkHeader header;
  header.type = static_cast<std::uint16_t>(ChunkType::records);
  header.stored_size = trace_format::max_payload;
  header.raw_size = trace_format::max_payload;
  const auto encoded = header.encode();
  const auto start = FileHeader{}.encode();
  Bytes file(start.begin(), start.end());
  for (int i = 0; i < 20000; ++i) file.insert(file.end(), encoded.begin(), encoded.end());
  TraceReader reader(file, schemas);
  EXPECT_FALSE(reader.complete());
  EXPECT_LE(reader.damage().size(), 1000U);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_TRUE(sink.records.empty());
}

TEST(TraceHostile, TooManySchemasAreRefused) {
  TraceBuilder builder;
  for (std::uint16_t id = 1; id <= 1100; ++id)
    builder.chunk(ChunkType::schema, encode_schema({id, "x", 48, {}, ""}));
  builder.chunk(ChunkType::end, {});
  TraceReader reader(builder.bytes(), schemas);
  EXPECT_EQ(reader.damage().size(), 76U);
}

TEST(TraceHostile, AnInfoOfMillionsOfNothings) {
  Bytes payload;
  while (payload.size() < trace_format::max_payload - 6) {
    put<std::uint16_t>(payload, trace_format::info_note);
    put<std::uint32_t>(payload, 0);
  }
  const Bytes file =
      TraceBuilder().chunk(ChunkType::info, payload).chunk(ChunkType::end, {}).bytes();
  EXPECT_LE(TraceReader(file).info().notes.size(), 65536U + 3);
}

TEST(TraceDamage, WhatVanishesAfterTheFileWasVerifiedIsCounted) {
  const auto records = numbered_records();
  const Bytes good = write_trace(records, chunk_records);
  const auto pieces = pieces_of(good);
  for (const Piece& piece : pieces) {
    const Fd file = memory_file();
    ASSERT_EQ(::write(file.get(), good.data(), good.size()), static_cast<ssize_t>(good.size()));
    TraceReader reader(Fd(::dup(file.get())), schemas);
    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(piece.begin)), 0);
    MemorySink sink;
    reader.replay(sink);
    ASSERT_EQ(sink.records.size() + lost(sink, "file_damaged"), records.size());
    ASSERT_EQ(sink.records.size(),
              std::min<std::uint64_t>(piece.header.records_before, records.size()));
    ASSERT_THAT(sink.ended[0].notes, Contains(HasSubstr("changed while it was read")));
  }
}

}  // namespace
}  // namespace overdue::trace_test
