// Writes the kept corpus: small files that reach every part of the reader. Usage: make_trace_corpus
// DIRECTORY

#include <cstring>
#include <fstream>
#include <string>

#include "bpf/app_timer.h"
#include "bpf/osnoise.h"
#include "bpf/profile.h"
#include "bpf/sched.h"
#include "bpf/signals.h"
#include "bpf/timerlat.h"
#include "bpf/user_stack.h"
#include "bpf/worst.h"
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

/// Of a recording that may be shown as each measurement with a command of its own.
SessionInfo info_of_all() {
  SessionInfo info = trace_test::sample_info();
  info.options["timerlat.period_ns"] = "1000000";
  info.options["osnoise.by"] = "thread";
  info.options["app_timers.user"] = "1";
  info.options["worst.latency"] = "wakeup";
  info.options["hwlat.threshold_ns"] = "10000";
  return info;
}

/// Not compressed, so that mutations reach the content.
Bytes trace_of(std::span<const Schema* const> schemas, const std::vector<Bytes>& records) {
  trace_test::TraceBuilder trace;
  for (const Schema* schema : schemas) trace.chunk(ChunkType::schema, encode_schema(*schema));
  trace.chunk(ChunkType::info, encode_info(info_of_all()))
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

/// Names for the stacks that a stall's records refer to.
class Everything final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const std::uint64_t address : addresses)
      stack.push_back({.address = address, .name = "folio_wait_writeback", .is_kernel = true});
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
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

/// A late call, its wait, the waker, and the waker's own wait.
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
  // Not all schemas, because the fuzzer cuts a file at 16 KiB.
  std::vector<const Schema*> schemas;
  for (const u16 kind :
       {RECORD_SCHED_WAIT, RECORD_SCHED_WAKE, RECORD_SYSCALL_CALL, RECORD_SPAN, RECORD_FRAME})
    schemas.push_back(find_schema(kind));
  keep(directory + "/stalls.odt", trace_of(schemas, records));
}

/// A call followed by a signal handler, a stop signal with its sender, the completion of a disk
/// request, and the place of a thread as it ran and as it woke another.
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

std::vector<const Schema*> schemas_of(std::initializer_list<u16> kinds) {
  std::vector<const Schema*> schemas;
  for (const u16 kind : kinds) schemas.push_back(find_schema(kind));
  return schemas;
}

/// A late activation with noise and a stack, and the state of its CPU at the end.
void make_timerlat_corpus(const std::string& directory) {
  timerlat_activation activation{};
  activation.header = trace_test::make_header(RECORD_TIMERLAT, sizeof activation, 9);
  activation.header.cpu = 1;
  activation.id = 7;
  activation.expires_ns = activation.header.time_ns - 40'000;
  activation.irq_ns = activation.header.time_ns - 30'000;
  activation.user_ns = activation.header.time_ns + 2'000;
  activation.flags = ACTIVATION_STOPPED;
  activation.noises = 1;
  activation.kernel_frames = 2;
  std::string_view("cc1").copy(activation.interrupted, sizeof activation.interrupted);
  timerlat_noise noise{};
  noise.begin_ns = activation.irq_ns;
  noise.end_ns = activation.header.time_ns - 1'000;
  noise.kind = NOISE_THREAD;
  noise.number = 87;
  Bytes late = trace_test::to_bytes(activation);
  for (const std::byte byte : trace_test::to_bytes(noise)) late.push_back(byte);
  for (const u64 address : {u64{1}, u64{2}})
    for (const std::byte byte : trace_test::to_bytes(address)) late.push_back(byte);
  const auto size = static_cast<u16>(late.size());
  std::memcpy(late.data() + trace_format::record_size_offset, &size, sizeof size);
  timerlat_cpu at_end{};
  at_end.header = trace_test::make_header(RECORD_TIMERLAT_CPU, sizeof at_end, 10);
  at_end.header.cpu = 1;
  at_end.missed = 3;
  at_end.silences = 1;
  at_end.silence[0] = {.begin_ns = activation.expires_ns - 1'000,
                       .end_ns = activation.irq_ns,
                       .flags = SILENCE_READY,
                       .reserved = 0};
  keep(directory + "/timerlat.odt", trace_of(schemas_of({RECORD_TIMERLAT, RECORD_TIMERLAT_CPU}),
                                             {late, trace_test::to_bytes(at_end)}));

  app_timer timer{};
  timer.header = trace_test::make_header(RECORD_APP_TIMER, sizeof timer, 11);
  timer.expires_ns = timer.header.time_ns - 90'000;
  timer.slack_ns = 50'000;
  timer.irq_ns = timer.expires_ns + 60'000;
  timer.wake_ns = timer.irq_ns + 1'000;
  timer.run_ns = timer.wake_ns + 20'000;
  timer.nr = 230;
  timer.behind_tid = 5;
  timer.behind_ns = 10'000;
  timer.kernel_frames = 2;
  sched_throttle throttle{};
  throttle.header = timer.header;
  throttle.header.kind = RECORD_SCHED_THROTTLE;
  keep(directory + "/app_timers.odt",
       trace_of(schemas_of({RECORD_APP_TIMER, RECORD_SCHED_THROTTLE}),
                {with_words(throttle, {}), with_words(timer, {3, 4})}));
}

/// A noise that ended the run, and its period.
void make_osnoise_corpus(const std::string& directory) {
  osnoise_gap gap{};
  gap.header = trace_test::make_header(RECORD_OSNOISE_GAP, sizeof gap, 12);
  gap.header.cpu = 1;
  gap.begin_ns = gap.header.time_ns - 9'000;
  gap.noise_ns = 9'000;
  gap.interferences = 1;
  gap.noises = 1;
  gap.flags = OSNOISE_STOPPED;
  timerlat_noise noise{};
  noise.begin_ns = gap.begin_ns + 1'000;
  noise.end_ns = gap.header.time_ns - 1'000;
  noise.kind = NOISE_SOFTIRQ;
  noise.number = 3;
  Bytes with_noise = trace_test::to_bytes(gap);
  for (const std::byte byte : trace_test::to_bytes(noise)) with_noise.push_back(byte);
  const auto size = static_cast<u16>(with_noise.size());
  std::memcpy(with_noise.data() + trace_format::record_size_offset, &size, sizeof size);
  osnoise_sample sample{};
  sample.header = trace_test::make_header(RECORD_OSNOISE_SAMPLE, sizeof sample, 13);
  sample.header.cpu = 1;
  sample.runtime_ns = 900'000'000;
  sample.noise_ns = sample.max_ns = 9'000;
  sample.outer_ns = 700;
  sample.softirq = 1;
  keep(directory + "/osnoise.odt", trace_of(schemas_of({RECORD_OSNOISE_GAP, RECORD_OSNOISE_SAMPLE}),
                                            {with_noise, trace_test::to_bytes(sample)}));
}

/// A long wake-up with an event, and the text of a kernel tracer.
void make_worst_corpus(const std::string& directory) {
  worst_window window{};
  window.header = trace_test::make_header(RECORD_WORST_WINDOW, sizeof window, 14);
  window.begin_ns = window.header.time_ns - 50'000;
  window.queued_ns = window.begin_ns + 1'000;
  window.latency_ns = 50'000;
  window.tracer = WORST_WAKEUP;
  window.events = 1;
  window.waking_frames = 1;
  window.end_frames = 1;
  worst_event event{};
  event.header = trace_test::make_header(RECORD_WORST_EVENT, sizeof event, 14);
  event.event = WORST_EVENT_SWITCH;
  event.flags = WORST_EVENT_HAS_COUNT;
  event.other_tid = 44;
  constexpr std::string_view written =
      "# latency: 82 us, #4/4, CPU#1 | (M:desktop VP:0, KP:0, SP:0 HP:0 #P:2)\n"
      "#    | task: rtworker-44 (uid:0 nice:0 policy:1 rt_prio:50)\n"
      "   <idle>-0   [001] d..1.   678.473449: #1     inner/outer(us):   12/11    "
      "ts:1581527483.343962693 count:6\n";
  tracer_text text{};
  text.header = trace_test::make_header(RECORD_TRACER_TEXT, sizeof text + written.size(), 15);
  Bytes of_kernel = trace_test::to_bytes(text);
  const auto tail = as_bytes(written);
  of_kernel.insert(of_kernel.end(), tail.begin(), tail.end());
  keep(directory + "/worst.odt",
       trace_of(schemas_of({RECORD_WORST_WINDOW, RECORD_WORST_EVENT}),
                {with_words(window, {5, 6}), trace_test::to_bytes(event)}));
  keep(directory + "/tracer_text.odt", trace_of(schemas_of({RECORD_TRACER_TEXT}), {of_kernel}));
}

/// Samples of a thread in the kernel and in its program, and the counts of a CPU.
void make_profile_corpus(const std::string& directory) {
  profile_sample sample{};
  sample.header = trace_test::make_header(RECORD_PROFILE_SAMPLE, sizeof sample, 16);
  std::string_view("server").copy(sample.process, sizeof sample.process);
  sample.kernel_frames = 2;
  sample.flags = SPAN_HAS_USER_STACK;
  sample.user_bytes = 64;
  profile_sample in_program = sample;
  in_program.kernel_frames = 0;
  profile_cpu cpu{};
  cpu.header = trace_test::make_header(RECORD_PROFILE_CPU, sizeof cpu, 17);
  const std::size_t user_side = sizeof(user_registers) + 64;
  keep(directory + "/profile.odt",
       trace_of(schemas_of({RECORD_PROFILE_SAMPLE, RECORD_PROFILE_CPU}),
                {with_words(sample, {1, 2}, user_side), with_words(in_program, {}, user_side),
                 trace_test::to_bytes(cpu)}));
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
  overdue::make_timerlat_corpus(argv[1]);
  overdue::make_osnoise_corpus(argv[1]);
  overdue::make_worst_corpus(argv[1]);
  overdue::make_profile_corpus(argv[1]);
}
