// Written data is read back: across versions, and through files, pipes and full disks.

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "trace/test_support.h"

namespace overdue::trace_test {
namespace {

using testing::HasSubstr;
using trace_format::ChunkType;

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_equal(const SessionInfo& a, const SessionInfo& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.arch, b.arch);
  EXPECT_EQ(a.cpus, b.cpus);
  EXPECT_EQ(a.start_wall, b.start_wall);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.duration, b.duration);
  EXPECT_EQ(a.target.kind, b.target.kind);
  EXPECT_EQ(a.target.values, b.target.values);
  EXPECT_EQ(a.target.pids, b.target.pids);
  EXPECT_EQ(a.target.follows_children, b.target.follows_children);
  EXPECT_EQ(a.target.cpus, b.target.cpus);
  EXPECT_EQ(std::tie(a.backend, a.notes, a.names.syscalls),
            std::tie(b.backend, b.notes, b.names.syscalls));
  EXPECT_EQ(std::tie(a.names.cgroups, a.names.callers, a.names.threads, a.options),
            std::tie(b.names.cgroups, b.names.callers, b.names.threads, b.options));
}

void expect_equal(const Receipt& a, const Receipt& b) {
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.lost_by, b.lost_by);
  EXPECT_EQ(a.unmatched, b.unmatched);
  EXPECT_EQ(a.cut, b.cut);
  EXPECT_EQ(a.refused, b.refused);
  EXPECT_EQ(a.probe_runs, b.probe_runs);
  EXPECT_EQ(a.probe_ns, b.probe_ns);
  EXPECT_EQ(a.probe_error_ns, b.probe_error_ns);
  EXPECT_EQ(a.probe_target_ns, b.probe_target_ns);
  EXPECT_EQ(a.target_cpu_ns, b.target_cpu_ns);
  EXPECT_EQ(a.own.cpu_ns, b.own.cpu_ns);
  EXPECT_EQ(a.own.memory_bytes, b.own.memory_bytes);
  EXPECT_EQ(a.own.bpf_bytes, b.own.bpf_bytes);
}

std::vector<Bytes> some_records(std::size_t count) {
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < count; ++i)
    records.push_back(i % 3 == 0 ? text_record(i, "path/" + std::to_string(i)) : wait_record(i));
  return records;
}

TEST(TraceRoundTrip, EverythingComesBack) {
  const auto records = some_records(1000);
  const Bytes file = write_trace(records, 300);
  TraceReader reader(file, schemas);
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.damage().empty());
  expect_equal(reader.info(), sample_info());
  for (int time = 0; time < 2; ++time) {  // replay may be called again
    MemorySink sink;
    reader.replay(sink);
    EXPECT_EQ(sink.records, records);
    EXPECT_EQ(sink.record_schemas[0], &text_schema);
    EXPECT_EQ(sink.record_schemas[1], &wait_schema);
    ASSERT_EQ(sink.ended.size(), 1U);
    expect_equal(sink.begun[0], sample_info());
    expect_equal(sink.ended[0], sample_info());
    expect_equal(sink.receipts[0], sample_receipt());
  }
}

TEST(TraceRoundTrip, TheLastInfoCounts) {
  const Fd file = memory_file();
  TraceWriter writer(Fd(::dup(file.get())), schemas);
  SessionInfo info = sample_info();
  info.duration = Duration{};
  info.notes.clear();
  writer.begin(info);
  writer.end(sample_info(), sample_receipt());
  const Bytes bytes = contents(file.get());
  expect_equal(TraceReader(bytes).info(), sample_info());
}

TEST(TraceRoundTrip, EndWithoutBeginIsAWholeFile) {
  const Fd file = memory_file();
  TraceWriter(Fd(::dup(file.get())), {}).end(SessionInfo{}, Receipt{});
  const Bytes bytes = contents(file.get());
  TraceReader reader(bytes);
  EXPECT_TRUE(reader.complete());
  MemorySink sink;
  reader.replay(sink);
  EXPECT_FALSE(sink.receipts[0].target_cpu_ns);
  EXPECT_TRUE(sink.receipts[0].lost_by.empty());
  EXPECT_TRUE(reader.info().notes.empty());
}

TEST(TraceRoundTrip, BeginAndFlushReachTheFileAtOnce) {
  const Fd file = memory_file();
  TraceWriter writer(Fd(::dup(file.get())), schemas);
  writer.begin(sample_info());
  const Bytes begun = contents(file.get());
  EXPECT_EQ(TraceReader(begun).info().command, "record");
  writer.record(as_record(wait_record(1)));
  EXPECT_EQ(contents(file.get()).size(), begun.size());
  writer.flush();
  const Bytes flushed = contents(file.get());
  EXPECT_EQ(flushed.size(), writer.bytes_written());
  TraceReader reader(flushed);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records.size(), 1U);
}

TEST(TraceRoundTrip, RandomRecordsInRandomChunks) {
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 30; ++round) {
    std::vector<Bytes> records;
    const std::size_t count = random() % 400;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t limit = random() % 50 == 0 ? 65535 - sizeof(text_event) : 300;
      std::string text(random() % (limit + 1), '\0');
      for (char& c : text) c = static_cast<char>(random());
      records.push_back(text_record(random() % (1ULL << 50), text));
    }
    const Bytes file = write_trace(records, 1 + random() % 100);
    TraceReader reader(file, schemas);
    MemorySink sink;
    reader.replay(sink);
    ASSERT_EQ(sink.records, records) << "round " << round;
    EXPECT_TRUE(reader.damage().empty());
  }
}

TEST(TraceRoundTrip, OnlyTheBytesARecordSaysItHasAreWritten) {
  Bytes longer = wait_record(1);
  longer.resize(longer.size() + 16);
  const Bytes file = write_trace({longer});
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records, std::vector<Bytes>{wait_record(1)});
}

TEST(TraceRoundTrip, WriterRefusesRecordsThatContradictThemselves) {
  TraceWriter writer(memory_file(), schemas);
  Bytes record = wait_record(1);
  record.resize(55);
  EXPECT_THAT(message_of([&] { writer.record(as_record(record)); }), HasSubstr("55 bytes"));
  record.resize(47);
  EXPECT_THROW(writer.record({&wait_schema, record}), Error);
  EXPECT_THROW(writer.record({&wait_schema, {}}), Error);
}

// A file whose `wait` and `text` records have other fixed sizes than here.
Bytes other_version(const Schema& schema, const std::vector<Bytes>& records) {
  return TraceBuilder()
      .chunk(ChunkType::schema, encode_schema(schema))
      .chunk(ChunkType::records, concatenated(records), static_cast<std::uint32_t>(records.size()))
      .chunk(ChunkType::end, {})
      .bytes();
}

Bytes resized(Bytes record, std::size_t from, std::ptrdiff_t by) {
  if (by > 0)
    record.insert(record.begin() + static_cast<std::ptrdiff_t>(from), static_cast<std::size_t>(by),
                  std::byte{0xee});
  else
    record.erase(record.begin() + static_cast<std::ptrdiff_t>(from) + by,
                 record.begin() + static_cast<std::ptrdiff_t>(from));
  store(std::span(record).subspan(trace_format::record_size_offset),
        static_cast<std::uint16_t>(record.size()));
  return record;
}

TEST(TraceVersions, FieldsANewerVersionAddedAreTakenOutAndTheTailStays) {
  Schema newer = text_schema;
  newer.size += 8;
  const Bytes file = other_version(
      newer, {resized(text_record(1, "tail"), 64, 8), resized(text_record(2, ""), 64, 8)});
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records, (std::vector<Bytes>{text_record(1, "tail"), text_record(2, "")}));
  EXPECT_EQ(sink.record_schemas[0], &text_schema);
}

TEST(TraceVersions, FieldsAnOlderVersionLackedAreZeroAndTheTailStays) {
  Schema older = text_schema;
  older.size -= 8;  // no text_size yet
  const Bytes file = other_version(
      older, {resized(text_record(1, "tail"), 64, -8), resized(text_record(2, ""), 64, -8)});
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  ASSERT_EQ(sink.records.size(), 2U);
  const Record first{&text_schema, sink.records[0]};
  EXPECT_EQ(first.as<text_event>().value, 1U);
  EXPECT_EQ(first.as<text_event>().text_size, 0U);
  EXPECT_EQ(first.header().size, first.bytes.size());
  EXPECT_EQ(as_text(first.bytes.subspan(sizeof(text_event))), "tail");
  EXPECT_EQ((Record{&text_schema, sink.records[1]}.as<text_event>().value), 2U);
}

TEST(TraceVersions, ARecordThatWouldGrowBeyondTheLimitIsCountedAsDamaged) {
  Schema older = text_schema;
  older.size -= 8;
  const Bytes file =
      other_version(older, {resized(text_record(1, std::string(65535 - 56, 'x')), 64, -8)});
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_TRUE(sink.records.empty());
  EXPECT_EQ(sink.receipts[0].lost_by.at("file_damaged"), 1U);
}

TEST(TraceVersions, KindsWeDoNotKnowUseTheFilesOwnSchema) {
  const Bytes file = write_trace({wait_record(7)});
  TraceReader reader(file);
  MemorySink sink;
  reader.replay(sink);
  ASSERT_EQ(sink.records.size(), 1U);
  EXPECT_NE(sink.record_schemas[0], &wait_schema);
  EXPECT_EQ(sink.record_schemas[0]->name, "wait");
  EXPECT_EQ(sink.record_schemas[0]->fields[0].help, "how long it waited");
  EXPECT_EQ(sink.record_schemas[0]->visit, nullptr);
}

TEST(TraceVersions, AKnownIdUnderAnotherNameIsNotOurs) {
  Schema other = wait_schema;
  other.name = "something_else";
  const Bytes file = other_version(other, {wait_record(1)});
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.record_schemas.at(0)->name, "something_else");
}

TEST(TraceVersions, KindsNobodyDescribesAreSkippedAndCounted) {
  const Bytes file =
      TraceBuilder()
          .chunk(ChunkType::records,
                 concatenated({wait_record(1), text_record(2, "x"), wait_record(3)}), 3)
          .chunk(ChunkType::end, {})
          .bytes();
  const std::array<const Schema*, 1> only_text = {&text_schema};
  TraceReader reader(file, only_text);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records, std::vector<Bytes>{text_record(2, "x")});
  EXPECT_EQ(sink.receipts[0].lost_by, (std::map<std::string, std::uint64_t>{{"unknown_kind", 2}}));
  EXPECT_THAT(sink.ended[0].notes.back(),
              HasSubstr("2 records of kinds this version does not know (900)"));
}

TEST(TraceVersions, UnknownChunksAndFlagsAreSkippedAndCounted) {
  ChunkHeader flagged;
  flagged.type = static_cast<std::uint16_t>(ChunkType::records);
  flagged.flags = 2;
  flagged.raw_size = 56;
  flagged.record_count = 1;
  const Bytes file = TraceBuilder()
                         .chunk(1000, wait_record(1))
                         .chunk(flagged, wait_record(2))
                         .chunk(ChunkType::records, wait_record(3), 1)
                         .chunk(ChunkType::end, {})
                         .bytes();
  TraceReader reader(file, schemas);
  MemorySink sink;
  reader.replay(sink);
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(sink.records, std::vector<Bytes>{wait_record(3)});
  EXPECT_EQ(sink.receipts[0].lost_by.at("unknown_kind"), 1U);
  EXPECT_THAT(
      reader.info().notes,
      testing::Contains(HasSubstr("2 parts of kinds this version does not know, with 1 record")));
}

TEST(TraceVersions, ANewerMajorIsRefusedAndANewerMinorIsNot) {
  Bytes file = write_trace({wait_record(1)});
  const auto minor = FileHeader{1, 99}.encode();
  std::copy(minor.begin(), minor.end(), file.begin());
  EXPECT_TRUE(TraceReader(file, schemas).damage().empty());
  const auto major = FileHeader{2, 3}.encode();
  std::copy(major.begin(), major.end(), file.begin());
  EXPECT_THAT(message_of([&] { TraceReader reader(file, schemas); }),
              HasSubstr("trace format 2.3"));
}

TEST(TraceFiles, ReadFromFileAndFromPipe) {
  const auto records = some_records(5000);
  const Bytes bytes = write_trace(records, 1000);
  for (const bool pipe : {false, true}) {
    Fd input = memory_file();
    std::thread writer;
    if (pipe) {
      int ends[2];
      ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
      input = Fd(ends[0]);
      writer = std::thread([&bytes, end = ends[1]] {
        const Fd out(end);
        std::span<const std::byte> rest = bytes;
        while (!rest.empty()) {
          const ssize_t n = ::write(out.get(), rest.data(), rest.size());
          if (n <= 0) break;
          rest = rest.subspan(static_cast<std::size_t>(n));
        }
      });
    } else {
      ASSERT_EQ(::write(input.get(), bytes.data(), bytes.size()),
                static_cast<ssize_t>(bytes.size()));
    }
    TraceReader reader(std::move(input), schemas, "x.odt");
    if (writer.joinable()) writer.join();
    MemorySink sink;
    reader.replay(sink);
    EXPECT_EQ(sink.records, records);
    EXPECT_TRUE(reader.damage().empty());
  }
}

TEST(TraceFiles, WriterFillsAPipeInPieces) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);  // every write may be partial
  auto writer = std::make_unique<TraceWriter>(Fd(ends[1]), schemas);
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, 0), 0);
  const auto records = some_records(20000);
  std::thread producer([&] {
    writer->begin(sample_info());
    for (const Bytes& record : records) writer->record(as_record(record));
    writer->end(sample_info(), sample_receipt());
    writer.reset();  // closes the pipe
  });
  TraceReader reader(Fd(ends[0]), schemas);
  producer.join();
  MemorySink sink;
  reader.replay(sink);
  EXPECT_EQ(sink.records, records);
}

TEST(TraceFiles, WriteErrorsAreSaidClearly) {
  TraceWriter full(Fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), schemas, "x\x1b.odt");
  EXPECT_THAT(message_of([&] { full.begin(sample_info()); }),
              HasSubstr("cannot write x\\x1b.odt: No space left"));
  EXPECT_THAT(message_of([&] { full.end(sample_info(), sample_receipt()); }),
              HasSubstr("earlier write failed"));

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  TraceWriter broken(Fd(ends[1]), schemas, "x.odt");
  EXPECT_THAT(message_of([&] { broken.begin(sample_info()); }), HasSubstr("closed the pipe"));
  std::signal(SIGPIPE, previous);
}

TEST(TraceFiles, WhatIsNoRecordingIsRefusedClearly) {
  EXPECT_THAT(message_of([] { TraceReader reader(std::span<const std::byte>{}); }),
              HasSubstr("it is empty"));
  const Bytes text(100, std::byte{'x'});
  EXPECT_THAT(message_of([&] { TraceReader reader(text); }), HasSubstr("not an overdue recording"));
  const Bytes few(3, std::byte{'x'});
  EXPECT_THAT(message_of([&] { TraceReader reader(few); }), HasSubstr("not an overdue recording"));
  EXPECT_THAT(
      message_of([] { TraceReader reader(Fd(::open("/", O_RDONLY | O_CLOEXEC)), {}, "a\x1b"); }),
      HasSubstr("cannot read a\\x1b: it is a directory"));
  EXPECT_THAT(message_of([] {
                TraceReader reader(Fd(::open("/dev/zero", O_RDONLY | O_CLOEXEC)), {},
                                   "/dev/\x1bzero");
              }),
              HasSubstr("cannot open /dev/\\x1bzero: it is not an overdue recording"));
}

}  // namespace
}  // namespace overdue::trace_test
