#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/sink.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/writer.h"

/// Shared by the tests of the trace file: two kinds of record, a session, a sink that keeps its
/// input.
namespace overdue::trace_test {

/// A record of fixed size.
struct wait_event {
  event_header header;
  u64 wait_ns;
};
WIRE_SIZE(wait_event, 56);

/// A record with a tail of `text_size` bytes.
struct text_event {
  event_header header;
  u64 value;
  u16 text_size;
  u16 reserved[3];
};
WIRE_SIZE(text_event, 64);

inline constexpr std::uint16_t wait_kind = 900;
inline constexpr std::uint16_t text_kind = 901;

inline constexpr std::array wait_fields = {
    OVERDUE_FIELD(wait_event, wait_ns, nanoseconds, duration, "how long it waited"),
};
inline constexpr std::array text_fields = {
    OVERDUE_FIELD(text_event, value, none, value, "a number"),
    OVERDUE_FIELD(text_event, text_size, bytes, value, "bytes behind the fixed part"),
};
inline constexpr Schema wait_schema{wait_kind, "wait", sizeof(wait_event), wait_fields, "a wait"};
inline constexpr Schema text_schema{text_kind, "text", sizeof(text_event), text_fields, "a text"};
inline constexpr std::array<const Schema*, 2> schemas = {&wait_schema, &text_schema};

inline event_header make_header(std::uint16_t kind, std::size_t size, std::uint64_t number) {
  event_header header{};
  header.time_ns = 1'000'000'000 + number * 1000;
  header.pid = 42;
  header.tid = 43;
  header.kind = kind;
  header.size = static_cast<std::uint16_t>(size);
  header.cpu = 1;
  std::memcpy(header.comm, "worker", 6);
  return header;
}

inline Bytes to_bytes(const auto& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}
inline Bytes wait_record(std::uint64_t number) {
  return to_bytes(wait_event{make_header(wait_kind, sizeof(wait_event), number), number});
}
inline Bytes text_record(std::uint64_t number, std::string_view text) {
  text_event event{};
  event.header = make_header(text_kind, sizeof event + text.size(), number);
  event.value = number;
  event.text_size = static_cast<std::uint16_t>(text.size());
  Bytes bytes = to_bytes(event);
  const auto tail = as_bytes(text);
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
}
/// The bytes as a record, with the schema of their kind.
inline Record as_record(const Bytes& bytes) {
  const auto kind = get<std::uint16_t>(bytes, trace_format::record_kind_offset);
  return {kind == wait_kind ? &wait_schema : &text_schema, bytes};
}

inline SessionInfo sample_info() {
  SessionInfo info;
  info.version = "0.1.0";
  info.command = "record";
  info.host = std::string("host\n\xff\0name", 11);
  info.kernel = "6.1.0-18-amd64";
  info.arch = "x86_64";
  info.cpus = 8;
  info.start_wall = WallTime(std::chrono::nanoseconds(1'795'000'000'123'456'789));
  info.start = KernelTime(Duration(1'000'000'000));
  info.duration = Duration(5'000'000'000);
  info.target.kind = "command";
  info.target.values = {"ls", "", "-R"};
  info.target.pids = {42, 4'000'000'000};
  info.target.follows_children = true;
  info.target.cpus = "0-3";
  info.options = {{"cpus", "0-3"}, {"period_ns", "1000000"}};
  info.backend = "tp_btf";
  info.notes = {"attached 2 of 712 tracepoints"};
  info.names.syscalls = {{{0, 470}, "brand_new"}, {{1, 5}, "open"}};
  info.names.callers = {{1, {"[unknown]", "[unknown]"}}, {2, {"libc.so.6", "fopen64"}}};
  info.names.threads = {{12, "kworker/R-kvfree_rcu_reclaim"}, {4'000'000'000, "\n"}};
  info.names.cgroups = {{1, "/"}, {18446744073709551615U, "/docker/\x1b[31m"}};
  return info;
}
inline Receipt sample_receipt() {
  Receipt receipt;
  receipt.events = 12345678901234;
  receipt.lost_by = {{"ring_full", 3}, {"map_full", 0}};
  receipt.unmatched = 4;
  receipt.cut = 5;
  receipt.refused = 8;
  receipt.probe_runs = 6;
  receipt.probe_ns = 7;
  receipt.probe_error_ns = 8;
  receipt.probe_target_ns = 0;
  receipt.own = {.cpu_ns = 9, .memory_bytes = 10, .bpf_bytes = 11};
  receipt.target_cpu_ns = 0;
  return receipt;
}

/// Keeps everything.
class MemorySink final : public Sink {
 public:
  void begin(const SessionInfo& info) override { begun.push_back(info); }
  void record(const Record& record) override {
    records.emplace_back(record.bytes.begin(), record.bytes.end());
    record_schemas.push_back(record.schema);
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    ended.push_back(info);
    receipts.push_back(receipt);
  }
  std::vector<SessionInfo> begun, ended;
  std::vector<Receipt> receipts;
  std::vector<Bytes> records;
  std::vector<const Schema*> record_schemas;
};

inline Fd memory_file() {
  return Fd(::memfd_create("trace", MFD_CLOEXEC));
}
inline Bytes contents(int fd) {
  Bytes bytes(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)));
  if (::pread(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  return bytes;
}

/// A whole recording: `records` in chunks of `chunk_records`.
inline Bytes write_trace(const std::vector<Bytes>& records, std::size_t chunk_records = 100) {
  const Fd file = memory_file();
  TraceWriter writer(Fd(::dup(file.get())), schemas);
  writer.begin(sample_info());
  for (std::size_t i = 0; i < records.size(); ++i) {
    writer.record(as_record(records[i]));
    if ((i + 1) % chunk_records == 0) writer.flush();
  }
  writer.end(sample_info(), sample_receipt());
  return contents(file.get());
}

/// Makes files that our writer never makes: chunks with any header and payload, but right checks.
class TraceBuilder {
 public:
  TraceBuilder() {
    const auto header = FileHeader{}.encode();
    bytes_.assign(header.begin(), header.end());
  }
  TraceBuilder& chunk(std::uint16_t type, std::span<const std::byte> payload,
                      std::uint32_t record_count = 0) {
    ChunkHeader header;
    header.type = type;
    header.raw_size = static_cast<std::uint32_t>(payload.size());
    header.record_count = record_count;
    return chunk(header, payload);
  }
  TraceBuilder& chunk(trace_format::ChunkType type, std::span<const std::byte> payload,
                      std::uint32_t record_count = 0) {
    return chunk(static_cast<std::uint16_t>(type), payload, record_count);
  }
  /// Sets stored_size, sequence, records_before and the checks.
  TraceBuilder& chunk(ChunkHeader header, std::span<const std::byte> payload) {
    header.stored_size = static_cast<std::uint32_t>(payload.size());
    header.sequence = sequence_++;
    header.records_before = records_;
    header.payload_check = trace_check(payload);
    records_ += header.record_count;
    const auto encoded = header.encode();
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.end());
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::uint32_t sequence_ = 0;
  std::uint64_t records_ = 0;
};

inline Bytes concatenated(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace overdue::trace_test
