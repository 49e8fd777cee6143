#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bpf/sched.h"
#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/sched/probe.h"
#include "probes/syscalls/probe.h"

// For tests of what explains a late call: a session that keeps every record about some processes.
namespace overdue {

/// The fixed part of a record, and the addresses behind it.
template <typename T>
struct WithStack {
  T fixed{};
  std::vector<u64> stack;

  explicit WithStack(const Record& record) : fixed(record.as<T>()) {
    stack.resize(fixed.kernel_frames);
    if (stack.empty()) return;  // memcpy() must not get a null pointer
    std::memcpy(stack.data(), record.bytes.data() + sizeof(T), 8 * stack.size());
  }
};
using SeenSpan = WithStack<span_record>;
using SeenWait = WithStack<sched_wait>;
using SeenWake = WithStack<sched_wake>;

struct Explained {
  std::vector<syscall_call> calls;
  std::vector<SeenSpan> spans;
  std::vector<SeenWait> waits;
  std::vector<SeenWake> wakes;
  std::vector<syscall_open> opens;

  RecordHandler handler() {
    return [this](const Record& record) {
      switch (record.schema->id) {
        case RECORD_SYSCALL_CALL:
          calls.push_back(record.as<syscall_call>());
          break;
        case RECORD_SPAN:
          spans.emplace_back(record);
          break;
        case RECORD_SCHED_WAIT:
          waits.emplace_back(record);
          break;
        case RECORD_SCHED_WAKE:
          wakes.emplace_back(record);
          break;
        case RECORD_SYSCALL_OPEN:
          opens.push_back(record.as<syscall_open>());
          break;
        default:
          break;
      }
    };
  }

  /// The longest wait of the span's thread within the span.
  const SeenWait* wait_within(const SeenSpan& span) const {
    const SeenWait* longest = nullptr;
    const u64 begin = span.fixed.header.time_ns - span.fixed.latency_ns;
    for (const SeenWait& wait : waits) {
      if (wait.fixed.header.tid != span.fixed.header.tid || wait.fixed.out_ns < begin ||
          wait.fixed.header.time_ns > span.fixed.header.time_ns)
        continue;
      const auto length = [](const SeenWait& of) {
        return of.fixed.header.time_ns - of.fixed.out_ns;
      };
      if (!longest || length(wait) > length(*longest)) longest = &wait;
    }
    return longest;
  }
  /// The wake-up that ended `wait`.
  const SeenWake* wake_of(const SeenWait& wait) const {
    for (const SeenWake& wake : wakes)
      if (wake.fixed.wakee_tid == wait.fixed.header.tid &&
          wake.fixed.header.time_ns == wait.fixed.wake_ns)
        return &wake;
    return nullptr;
  }
};

/// Reports calls that take `threshold` or longer, and waits that take an eighth of it or longer.
class Explaining {
 public:
  Explaining(const std::vector<std::uint32_t>& pids, Duration threshold,
             std::size_t user_stack_bytes = 16 << 10)
      : session(rules_of(pids), 4 << 20) {
    auto ledgers = std::make_unique<SchedProbe>(session.membership().maps());
    sched = ledgers.get();
    SyscallsOptions options;
    options.aggregate = false;
    options.stalls = true;
    options.hangs = true;
    options.user_stack_bytes = user_stack_bytes;
    auto calls = std::make_unique<SyscallsProbe>(options, ledgers->maps());
    syscalls = calls.get();
    session.add(std::move(ledgers));
    session.add(std::move(calls));
    session.membership().control().threshold_ns[SPAN_SYSCALL] = threshold.count();
    session.membership().control().wait_min_ns = threshold.count() / 8;
    session.membership().control().slice_ns = threshold.count() / 32;
  }

  const Explained& finish() {
    session.finish(seen.handler());
    return seen;
  }

  Session session;
  SchedProbe* sched = nullptr;
  SyscallsProbe* syscalls = nullptr;
  Explained seen;

 private:
  static MembershipRules rules_of(const std::vector<std::uint32_t>& pids) {
    MembershipRules rules;
    rules.pids = pids;
    return rules;
  }
};

inline u64 sum_of(const ledger_parts& parts) {
  return parts.oncpu_ns + parts.runqueue_ns + parts.preempted_ns + parts.sleeping_ns +
         parts.uninterruptible_ns + parts.irq_ns + parts.softirq_ns;
}

}  // namespace overdue
