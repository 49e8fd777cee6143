// Writes the kept corpus: small files that reach every part of the reader. Usage: make_trace_corpus
// DIRECTORY

#include <fstream>
#include <string>

#include "probes/syscalls/probe.h"
#include "trace/codec.h"
#include "trace/test_support.h"

namespace overdue {
namespace {

using trace_format::ChunkType;

void keep(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary) << as_text(bytes);
}

template <typename T>
T syscall_record(u16 kind, u32 nr, std::size_t tail = 0) {
  T record{};
  record.header = trace_test::make_header(kind, sizeof record + tail, nr);
  record.nr = nr;
  return record;
}

/// What the probe writes: single calls, or an aggregate; a call that is still open. Not compressed.
Bytes syscalls_trace(const std::vector<Bytes>& records) {
  trace_test::TraceBuilder trace;
  for (const Schema* schema : syscalls_probe.schemas)
    trace.chunk(ChunkType::schema, encode_schema(*schema));
  trace.chunk(ChunkType::info, encode_info(trace_test::sample_info()))
      .chunk(ChunkType::records, trace_test::concatenated(records),
             static_cast<std::uint32_t>(records.size()))
      .chunk(ChunkType::receipt, encode_receipt(trace_test::sample_receipt()))
      .chunk(ChunkType::end, {});
  return trace.bytes();
}

void make_syscalls_corpus(const std::string& directory) {
  constexpr std::string_view path("/etc/passwd\0", 12);
  auto opened = syscall_record<syscall_call>(RECORD_SYSCALL_CALL, 257, path.size());
  opened.latency_ns = 12'345;
  opened.ret = -2;
  opened.text_size = path.size();
  opened.text_arguments = 2;
  Bytes with_text = trace_test::to_bytes(opened);
  const auto tail = as_bytes(path);
  with_text.insert(with_text.end(), tail.begin(), tail.end());
  auto read = syscall_record<syscall_call>(RECORD_SYSCALL_CALL, 0);
  read.latency_ns = 830;
  auto waits = syscall_record<syscall_open>(RECORD_SYSCALL_OPEN, 202);
  waits.age_ns = 1'310'000'000;
  keep(directory + "/calls.odt",
       syscalls_trace({with_text, trace_test::to_bytes(read), trace_test::to_bytes(waits)}));

  auto cell = syscall_record<syscall_cell>(RECORD_SYSCALL_CELL, 1);
  cell.errors = 1;
  cell.errnos[0] = {.code = 32, .count = 1};
  cell.latency = {.count = 2, .total_ns = 200, .min_ns = 95, .max_ns = 105, .buckets = {}};
  cell.latency.buckets[histogram_bucket(95)] = cell.latency.buckets[histogram_bucket(105)] = 1;
  keep(directory + "/cells.odt",
       syscalls_trace({trace_test::to_bytes(cell), trace_test::to_bytes(waits)}));
}

void make_corpus(const std::string& directory) {
  const std::vector<Bytes> records = {trace_test::wait_record(1), trace_test::text_record(2, "two"),
                                      trace_test::wait_record(3)};
  const Bytes whole = trace_test::write_trace(records, 2);
  keep(directory + "/whole.odt", whole);
  keep(directory + "/cut.odt", std::span(whole).first(whole.size() * 2 / 3));
  Bytes damaged = whole;
  damaged[trace_format::file_header_size + 9] ^= std::byte{1};
  keep(directory + "/damaged.odt", damaged);

  // Nothing compressed, so that mutations reach the payloads.
  Schema newer = trace_test::wait_schema;
  newer.size = 64;
  trace_test::TraceBuilder plain;
  plain.chunk(ChunkType::schema, encode_schema(newer))
      .chunk(ChunkType::schema, encode_schema(trace_test::text_schema))
      .chunk(ChunkType::info, encode_info(trace_test::sample_info()))
      .chunk(ChunkType::records, trace_test::concatenated(records), 3)
      .chunk(99, as_bytes("unknown"))
      .chunk(ChunkType::receipt, encode_receipt(trace_test::sample_receipt()))
      .chunk(ChunkType::end, {});
  keep(directory + "/plain.odt", plain.bytes());
}

}  // namespace
}  // namespace overdue

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  overdue::make_corpus(argv[1]);
  overdue::make_syscalls_corpus(argv[1]);
}
