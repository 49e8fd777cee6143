// Writes the kept corpus: small files that reach every part of the reader. Usage: make_trace_corpus
// DIRECTORY

#include <cstring>
#include <fstream>
#include <string>

#include "bpf/sched.h"
#include "bpf/signals.h"
#include "bpf/user_stack.h"
#include "core/probe.h"
#include "core/recorded_stacks.h"
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

/// Not compressed, so that mutations reach what is in it.
Bytes trace_of(std::span<const Schema* const> schemas, const std::vector<Bytes>& records) {
  trace_test::TraceBuilder trace;
  for (const Schema* schema : schemas) trace.chunk(ChunkType::schema, encode_schema(*schema));
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
       trace_of(syscalls_probe.schemas,
                {with_text, trace_test::to_bytes(read), trace_test::to_bytes(waits)}));

  auto cell = syscall_record<syscall_cell>(RECORD_SYSCALL_CELL, 1);
  cell.errors = 1;
  cell.errnos[0] = {.code = 32, .count = 1};
  cell.latency = {.count = 2, .total_ns = 200, .min_ns = 95, .max_ns = 105, .buckets = {}};
  cell.latency.buckets[histogram_bucket(95)] = cell.latency.buckets[histogram_bucket(105)] = 1;
  keep(directory + "/cells.odt",
       trace_of(syscalls_probe.schemas, {trace_test::to_bytes(cell), trace_test::to_bytes(waits)}));
}

/// Names and copies of stacks that a stall's records refer to.
class Everything final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const std::uint64_t address : addresses)
      stack.push_back({.address = address, .name = "folio_wait_writeback", .is_kernel = true});
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers&, std::span<const std::byte>,
                       KernelTime) override {
    return {.frames = {{.name = "fsync", .module = "/lib/libc.so.6"},
                       {.module = "/bin/dd", .offset = 4096, .build_id = "abcdef"}},
            .end = "no unwind information in dd"};
  }
};

template <typename T>
Bytes with_words(T record, std::initializer_list<u64> words, std::size_t more = 0) {
  Bytes bytes = trace_test::to_bytes(record);
  for (const u64 word : words)
    for (const std::byte byte : trace_test::to_bytes(word)) bytes.push_back(byte);
  bytes.resize(bytes.size() + more);
  const auto size = static_cast<u16>(bytes.size());
  std::memcpy(bytes.data() + trace_format::record_size_offset, &size, sizeof size);
  return bytes;
}

/// A call that was late, the wait in it, who ended that, and what the waker waited for.
void make_stalls_corpus(const std::string& directory) {
  sched_wake wake{};
  wake.header = trace_test::make_header(RECORD_SCHED_WAKE, sizeof wake, 8);
  wake.header.tid = 99;
  wake.wakee_tid = 43;
  wake.context = WAKER_SOFTIRQ;
  wake.number = 4;
  wake.kernel_frames = 1;
  sched_wait wait{};
  wait.header = trace_test::make_header(RECORD_SCHED_WAIT, sizeof wait, 9);
  wait.out_ns = wait.header.time_ns - 8'000;
  wait.wake_ns = wake.header.time_ns;
  wait.state = WAIT_UNINTERRUPTIBLE;
  wait.kernel_frames = 2;
  sched_wait of_waker = wait;
  of_waker.header.tid = 99;
  of_waker.header.time_ns -= 2'000;
  of_waker.state = WAIT_PREEMPTED;
  auto call = syscall_record<syscall_call>(RECORD_SYSCALL_CALL, 74);
  call.latency_ns = 10'000;
  call.header.time_ns = wait.header.time_ns + 1'000;
  span_record span{};
  span.header = call.header;
  span.header.kind = RECORD_SPAN;
  span.latency_ns = 10'000;
  span.subject = 74;
  span.span = SPAN_SYSCALL;
  span.ledger.uninterruptible_ns = 8'000;
  span.flags = SPAN_HAS_LEDGER | SPAN_HAS_USER_STACK;
  span.user_bytes = 64;
  std::vector<Bytes> records;
  Everything namer;
  StackRecorder recorder(namer, [&](const Record& record) {
    records.emplace_back(record.bytes.begin(), record.bytes.end());
  });
  const auto add = [&](const Bytes& bytes) {
    const auto kind = get<std::uint16_t>(bytes, trace_format::record_kind_offset);
    recorder.record(Record{find_schema(kind), bytes});
  };
  add(with_words(of_waker, {1, 2}));
  add(with_words(wake, {3}));
  add(with_words(wait, {1, 4}));
  add(trace_test::to_bytes(call));
  add(with_words(span, {}, sizeof(user_registers) + span.user_bytes));
  span.flags = SPAN_HAS_LEDGER | SPAN_OPEN;
  span.user_bytes = 0;
  span.detail = 2'000;
  std::string_view("sleeping").copy(span.text, sizeof span.text);
  add(with_words(span, {}));
  // Of all schemas there are too many: the fuzzer cuts a file at 16 KiB.
  std::vector<const Schema*> schemas;
  for (const u16 kind :
       {RECORD_SCHED_WAIT, RECORD_SCHED_WAKE, RECORD_SYSCALL_CALL, RECORD_SPAN, RECORD_FRAME})
    schemas.push_back(find_schema(kind));
  keep(directory + "/stalls.odt", trace_of(schemas, records));
}

/// A call with a signal's handler behind it, a stop that somebody has sent, a disk's completion,
/// and where a thread was as it ran, and as it woke another.
void make_signals_corpus(const std::string& directory) {
  cpu_sample sample{};
  sample.header = trace_test::make_header(RECORD_CPU_SAMPLE, sizeof sample, 7);
  sample.kernel_frames = 2;
  sample.kernel[0] = 1;
  sample.kernel[1] = 2;
  sample.flags = SPAN_HAS_USER_STACK;
  sample.user_bytes = 64;
  sched_wake wake{};
  wake.header = trace_test::make_header(RECORD_SCHED_WAKE, sizeof wake, 8);
  wake.header.tid = 99;
  wake.wakee_tid = 43;
  wake.context = WAKER_IRQ;
  std::string_view("virtio1").copy(wake.irq_name, sizeof wake.irq_name);
  std::string_view("vda").copy(wake.disk, sizeof wake.disk);
  cpu_sample waking = sample;
  waking.header = wake.header;
  waking.header.kind = RECORD_CPU_SAMPLE;
  waking.reason = SAMPLE_OF_WAKER;
  sched_wait wait{};
  wait.header = trace_test::make_header(RECORD_SCHED_WAIT, sizeof wait, 9);
  wait.out_ns = wait.header.time_ns - 8'000;
  wait.wake_ns = wake.header.time_ns;
  wait.state = WAIT_OTHER;
  wait.flags = WAIT_OF_MEMBER;
  wait.call = 1;
  wait.call_ns = wait.out_ns - 100;
  stop_signal stop{};
  stop.header = trace_test::make_header(RECORD_STOP_SIGNAL, sizeof stop, 6);
  stop.header.time_ns = wait.out_ns - 1;
  stop.target_pid = wait.header.pid;
  stop.signal = 19;
  span_record span{};
  span.header = wait.header;
  span.header.kind = RECORD_SPAN;
  span.header.time_ns += 1'000;
  span.latency_ns = 10'000;
  span.span = SPAN_SYSCALL;
  span.flags = SPAN_HAS_LEDGER;
  signal_handler handler{};
  handler.header = span.header;
  handler.header.kind = RECORD_SIGNAL_HANDLER;
  handler.begin_ns = span.header.time_ns - 500;
  handler.signal = 10;
  const std::size_t user_side = sizeof(user_registers) + sample.user_bytes;
  std::vector<const Schema*> schemas;
  for (const u16 kind : {RECORD_CPU_SAMPLE, RECORD_SCHED_WAKE, RECORD_SCHED_WAIT,
                         RECORD_STOP_SIGNAL, RECORD_SPAN, RECORD_SIGNAL_HANDLER})
    schemas.push_back(find_schema(kind));
  keep(directory + "/signals.odt",
       trace_of(schemas, {with_words(stop, {}), with_words(sample, {}, user_side),
                          with_words(wake, {}), with_words(waking, {}, user_side),
                          with_words(wait, {}), with_words(handler, {}), with_words(span, {})}));
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
  overdue::make_stalls_corpus(argv[1]);
  overdue::make_signals_corpus(argv[1]);
}
