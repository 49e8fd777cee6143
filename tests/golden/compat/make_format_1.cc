// Wrote format-1.odt, once. The records are made by hand; the structs are copies of what version
// 0.1 wrote and must not follow later changes of syscalls.h.

#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "trace/codec.h"
#include "trace/test_support.h"

namespace overdue {
namespace {

struct CallOf1 {
  event_header header;
  u64 latency_ns;
  s64 ret;
  u64 arguments[6];
  u32 nr;
  u16 abi;
  u16 text_size;
  u8 text_arguments;
  u8 text_truncated;
  u8 flags;
  u8 reserved[5];
};
WIRE_SIZE(CallOf1, 128);

struct OpenOf1 {
  event_header header;
  u64 age_ns;
  u32 nr;
  u16 abi;
  u16 reserved;
};
WIRE_SIZE(OpenOf1, 64);

struct CellOf1 {
  event_header header;
  u64 errors;
  u64 unreturned;
  u32 nr;
  u16 abi;
  u8 late;
  u8 reserved;
  u64 reserved_line;
  struct {
    u32 code;
    u32 count;
  } errnos[6];
  u64 count;
  u64 total_ns;
  u64 min_ns;
  u64 max_ns;
  u32 buckets[656];
};
WIRE_SIZE(CellOf1, 2784);

constexpr std::array call_fields = {
    OVERDUE_FIELD(CallOf1, latency_ns, nanoseconds, duration, "from entry to return"),
    OVERDUE_FIELD(CallOf1, ret, result, value, "return value"),
    OVERDUE_FIELD(CallOf1, arguments, opaque, value, "as passed in registers"),
    OVERDUE_FIELD(CallOf1, nr, syscall, key, "system call"),
    OVERDUE_FIELD(CallOf1, abi, abi, key, "ABI"),
    OVERDUE_FIELD(CallOf1, text_size, bytes, value, "bytes of strings behind the record"),
    OVERDUE_FIELD(CallOf1, text_arguments, opaque, value, "arguments that are strings"),
    OVERDUE_FIELD(CallOf1, text_truncated, opaque, value, "strings that were cut"),
    OVERDUE_FIELD(CallOf1, flags, opaque, value, "1: never returned"),
};
constexpr std::array open_fields = {
    OVERDUE_FIELD(OpenOf1, age_ns, nanoseconds, duration, "since entry"),
    OVERDUE_FIELD(OpenOf1, nr, syscall, key, "system call"),
    OVERDUE_FIELD(OpenOf1, abi, abi, key, "ABI"),
};
constexpr std::array cell_fields = {
    OVERDUE_FIELD(CellOf1, errors, count, value, "calls that failed"),
    OVERDUE_FIELD(CellOf1, unreturned, count, value, "calls that never returned"),
    OVERDUE_FIELD(CellOf1, nr, syscall, key, "system call"),
    OVERDUE_FIELD(CellOf1, abi, abi, key, "ABI"),
    OVERDUE_FIELD(CellOf1, late, count, value, "first seen after discovery"),
    OVERDUE_FIELD(CellOf1, errnos, opaque, value, "errno values and counts"),
    Field{"latency", offsetof(CellOf1, count), sizeof(CellOf1) - offsetof(CellOf1, count),
          Unit::histogram, Role::duration, "distribution"},
};
constexpr Schema call_schema{1, "call", sizeof(CallOf1), call_fields, "one system call"};
constexpr Schema cell_schema{2, "syscall_cell", sizeof(CellOf1), cell_fields,
                             "calls of one number"};
constexpr Schema open_schema{3, "syscall_open", sizeof(OpenOf1), open_fields,
                             "a call not finished"};
constexpr Schema other_schema{60000, "wait", sizeof(trace_test::wait_event),
                              trace_test::wait_fields, "a kind no version has"};

template <typename T>
T start_record(std::uint16_t kind, std::size_t size, std::uint64_t number) {
  T record{};
  record.header = trace_test::make_header(kind, size, number);
  record.header.cgroup_id = 77;
  return record;
}

Bytes call(std::uint64_t number, u32 nr, s64 ret, std::string_view text) {
  auto record = start_record<CallOf1>(1, sizeof(CallOf1) + text.size(), number);
  record.latency_ns = 1000 + number;
  record.ret = ret;
  for (std::size_t i = 0; i < 6; ++i) record.arguments[i] = number * 16 + i;
  record.nr = nr;
  record.text_size = static_cast<u16>(text.size());
  record.text_arguments = text.empty() ? 0 : 2;
  Bytes bytes = trace_test::to_bytes(record);
  const auto tail = as_bytes(text);
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
}

Bytes cell() {
  auto record = start_record<CellOf1>(2, sizeof(CellOf1), 10);
  record.errors = 2;
  record.unreturned = 1;
  record.nr = 257;
  record.late = 1;
  record.errnos[0] = {2, 2};
  record.count = 3;
  record.total_ns = 60;
  record.min_ns = 5;
  record.max_ns = 40;
  record.buckets[5] = 1;
  record.buckets[15] = 1;
  record.buckets[36] = 1;
  return trace_test::to_bytes(record);
}

Bytes open_call() {
  auto record = start_record<OpenOf1>(3, sizeof(OpenOf1), 11);
  record.age_ns = 2'310'000'000;
  record.nr = 7;
  record.abi = 1;
  return trace_test::to_bytes(record);
}

Bytes other(std::uint16_t kind) {
  auto record = start_record<trace_test::wait_event>(kind, sizeof(trace_test::wait_event), 12);
  record.wait_ns = 99;
  return trace_test::to_bytes(record);
}

Bytes file() {
  using trace_format::ChunkType;
  trace_test::TraceBuilder builder;
  Packer packer;
  const auto packed = [&](ChunkType type, const Bytes& raw, std::uint32_t records) {
    ChunkHeader header;
    header.type = static_cast<std::uint16_t>(type);
    header.record_count = records;
    const auto stored = packer.pack(raw, header);
    builder.chunk(header, stored);
  };
  const auto describe = [&] {
    for (const Schema* schema : {&call_schema, &cell_schema, &open_schema, &other_schema})
      packed(ChunkType::schema, encode_schema(*schema), 0);
    packed(ChunkType::info, encode_info(trace_test::sample_info()), 0);
  };
  describe();
  packed(ChunkType::records,
         trace_test::concatenated({call(1, 59, 0, std::string_view("/bin/ls\0", 8)),
                                   call(2, 257, -2, std::string_view("/no\n\x1b[31m\0", 10)),
                                   call(3, 39, 42, "")}),
         3);
  builder.chunk(ChunkType::records, trace_test::concatenated({cell(), open_call()}), 2);
  builder.chunk(4000, as_bytes("a chunk no version knows"));
  packed(ChunkType::records, trace_test::concatenated({other(60000), other(60001)}), 2);
  describe();
  packed(ChunkType::receipt, encode_receipt(trace_test::sample_receipt()), 0);
  builder.chunk(ChunkType::end, {});
  return builder.bytes();
}

}  // namespace
}  // namespace overdue

int main() {
  const overdue::Bytes bytes = overdue::file();
  return ::write(STDOUT_FILENO, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())
             ? 0
             : 1;
}
