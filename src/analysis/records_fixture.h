// Records as probes write them, for the tests of this folder.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/stall_assembler.h"
#include "bpf/user_stack.h"
#include "core/span_schema.h"

namespace overdue {

inline constexpr Schema wait_schema{
    .id = RECORD_SCHED_WAIT, .name = "wait", .size = sizeof(sched_wait), .fields = {}, .help = ""};
inline constexpr Schema wake_schema{
    .id = RECORD_SCHED_WAKE, .name = "wake", .size = sizeof(sched_wake), .fields = {}, .help = ""};

inline constexpr Schema throttle_schema{.id = RECORD_SCHED_THROTTLE,
                                        .name = "throttle",
                                        .size = sizeof(sched_throttle),
                                        .fields = {},
                                        .help = ""};

inline constexpr Schema runs_schema{
    .id = RECORD_SCHED_RUNS, .name = "runs", .size = sizeof(sched_runs), .fields = {}, .help = ""};

inline constexpr Schema places_schema{.id = RECORD_WAIT_PLACES,
                                      .name = "places",
                                      .size = sizeof(wait_places),
                                      .fields = {},
                                      .help = ""};

inline constexpr Schema sample_schema{.id = RECORD_CPU_SAMPLE,
                                      .name = "sample",
                                      .size = sizeof(cpu_sample),
                                      .fields = {},
                                      .help = ""};

inline constexpr Schema handler_schema{.id = RECORD_SIGNAL_HANDLER,
                                       .name = "handler",
                                       .size = sizeof(signal_handler),
                                       .fields = {},
                                       .help = ""};

inline constexpr Schema stop_schema{.id = RECORD_STOP_SIGNAL,
                                    .name = "stop",
                                    .size = sizeof(stop_signal),
                                    .fields = {},
                                    .help = ""};

template <typename T>
std::vector<std::byte> bytes_of(const T& fixed) {
  std::vector<std::byte> bytes(sizeof fixed);
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  return bytes;
}

inline void name_thread(event_header& header, u32 tid, std::string_view comm) {
  header.pid = header.tid = tid;
  std::memcpy(header.comm, comm.data(), comm.size());
}

/// The bytes of `fixed`, followed by addresses.
template <typename T>
std::vector<std::byte> with_stack(T fixed, const std::vector<u64>& stack) {
  fixed.kernel_frames = static_cast<u16>(stack.size());
  fixed.header.size = static_cast<u16>(sizeof(T) + 8 * stack.size());
  std::vector<std::byte> bytes(fixed.header.size);
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  if (!stack.empty()) std::memcpy(bytes.data() + sizeof fixed, stack.data(), 8 * stack.size());
  return bytes;
}

/// A wait of thread `tid` from `out_ns`, woken by a thread at `wake_ns` (0: preempted), until
/// `in_ns`.
inline sched_wait wait_of(u32 tid, u64 out_ns, u64 wake_ns, u64 in_ns, u32 waker_tid = 0) {
  sched_wait wait{};
  name_thread(wait.header, tid, "thread-" + std::to_string(tid));
  wait.header.kind = RECORD_SCHED_WAIT;
  wait.header.time_ns = in_ns;
  wait.out_ns = out_ns;
  wait.wake_ns = wake_ns;
  wait.state = wake_ns ? WAIT_SLEEPING : WAIT_PREEMPTED;
  wait.waker_tid = waker_tid;
  wait.waker_context = static_cast<u16>(wake_ns ? WAKER_THREAD : WAKER_UNKNOWN);
  return wait;
}

/// A sample of thread `tid`, with a user stack if `has_user_side`.
inline std::vector<std::byte> sample_of(u32 tid, u64 time_ns, const std::vector<u64>& kernel,
                                        bool has_user_side = true,
                                        sample_reason reason = SAMPLE_OF_CPU) {
  cpu_sample sample{};
  sample.reason = static_cast<u16>(reason);
  name_thread(sample.header, tid, "thread-" + std::to_string(tid));
  sample.header.kind = RECORD_CPU_SAMPLE;
  sample.header.time_ns = time_ns;
  sample.kernel_frames = static_cast<u16>(kernel.size());
  std::copy(kernel.begin(), kernel.end(), sample.kernel);
  if (!has_user_side) return bytes_of(sample);
  sample.flags = SPAN_HAS_USER_STACK;
  sample.user_bytes = 8;
  std::vector<std::byte> bytes = bytes_of(sample);
  bytes.resize(sizeof sample + sizeof(user_registers) + sample.user_bytes);
  return bytes;
}

inline span_record span_of(u32 tid, u64 begin_ns, u64 end_ns) {
  span_record span{};
  name_thread(span.header, tid, "thread-" + std::to_string(tid));
  span.header.kind = RECORD_SPAN;
  span.header.time_ns = end_ns;
  span.latency_ns = end_ns - begin_ns;
  span.span = SPAN_SYSCALL;
  span.flags = SPAN_HAS_LEDGER;
  return span;
}

/// Thread `waker` wakes thread `wakee` at that time.
inline sched_wake wake_of(u32 waker, u32 wakee, u64 at, std::string_view comm = "waker") {
  sched_wake wake{};
  name_thread(wake.header, waker, comm);
  wake.header.time_ns = at;
  wake.wakee_tid = wakee;
  wake.context = WAKER_THREAD;
  return wake;
}

/// Feeds an assembler and counts its stalls. A stall is valid only during the call of `look`.
class Fed {
 public:
  explicit Fed(StallAssembler::Limits limits = {})
      : assembler(
            [this](const RawStall& stall) {
              if (look) look(stall);
              ++stalls;
            },
            limits) {}

  Fed& add(const Schema& schema, const std::vector<std::byte>& bytes) {
    assembler.record({&schema, bytes});
    return *this;
  }
  Fed& add(const sched_wait& wait, const std::vector<u64>& stack = {}) {
    return add(wait_schema, with_stack(wait, stack));
  }
  Fed& add(const sched_wake& wake, const std::vector<u64>& stack = {}) {
    return add(wake_schema, with_stack(wake, stack));
  }
  Fed& add(const sched_throttle& throttle) { return add(throttle_schema, bytes_of(throttle)); }
  Fed& add(const sched_runs& runs) { return add(runs_schema, bytes_of(runs)); }
  Fed& add(const signal_handler& handler) { return add(handler_schema, bytes_of(handler)); }
  Fed& add(const stop_signal& stop) { return add(stop_schema, bytes_of(stop)); }
  Fed& add(const wait_places& places) { return add(places_schema, bytes_of(places)); }
  Fed& add(const span_record& span, const std::vector<u64>& stack = {}) {
    return add(span_schema, with_stack(span, stack));
  }

  std::function<void(const RawStall&)> look;
  unsigned stalls = 0;
  StallAssembler assembler;
};

}  // namespace overdue
