// The ledger adds up, and waits are recorded with who ended them.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "bpf/sched.h"
#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/sched/probe.h"
#include "probes/syscalls/probe.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

/// The fixed part of a record, and the addresses behind it.
template <typename T>
struct WithStack {
  T fixed{};
  std::vector<u64> stack;

  explicit WithStack(const Record& record) : fixed(record.as<T>()) {
    stack.resize(fixed.kernel_frames);
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
        default:
          break;
      }
    };
  }

  /// The longest wait of the span's thread within it.
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
  /// What ended it.
  const SeenWake* wake_of(const SeenWait& wait) const {
    for (const SeenWake& wake : wakes)
      if (wake.fixed.wakee_tid == wait.fixed.header.tid &&
          wake.fixed.header.time_ns == wait.fixed.wake_ns)
        return &wake;
    return nullptr;
  }
};

/// Calls of a process that take as long as `threshold`; waits as long as an eighth of it.
class Explaining {
 public:
  Explaining(const Child& child, Duration threshold, std::size_t user_stack_bytes = 16 << 10)
      : session(rules_of(child), 4 << 20) {
    auto sched = std::make_unique<SchedProbe>(session.membership().maps());
    SyscallsOptions options;
    options.aggregate = false;
    options.stalls = true;
    options.user_stack_bytes = user_stack_bytes;
    auto calls = std::make_unique<SyscallsProbe>(options, sched->maps());
    syscalls = calls.get();
    session.add(std::move(sched));
    session.add(std::move(calls));
    session.membership().control().threshold_ns[SPAN_SYSCALL] = threshold.count();
    session.membership().control().wait_min_ns = threshold.count() / 8;
  }

  const Explained& finish() {
    session.finish(seen.handler());
    return seen;
  }

  Session session;
  SyscallsProbe* syscalls = nullptr;
  Explained seen;

 private:
  static MembershipRules rules_of(const Child& child) {
    MembershipRules rules;
    rules.pids = {child.pid()};
    return rules;
  }
};

u64 sum_of(const ledger_parts& parts) {
  return parts.oncpu_ns + parts.runqueue_ns + parts.preempted_ns + parts.sleeping_ns +
         parts.uninterruptible_ns + parts.irq_ns + parts.softirq_ns;
}

class Stalls : public KernelTest {};

TEST_F(Stalls, OfASleepAreExplainedByTheLedgerAndTheWait) {
  Child child([](Child&) {
    for (int i = 0; i < 5; ++i) usleep(20'000);
  });
  Explaining measuring(child, 10ms);
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  ASSERT_EQ(seen.calls.size(), 5u);
  ASSERT_EQ(seen.spans.size(), 5u);
  for (const SeenSpan& span : seen.spans) {
    EXPECT_EQ(span.fixed.span, SPAN_SYSCALL);
    EXPECT_EQ(span.fixed.subject, u64{SYS_clock_nanosleep});
    EXPECT_GE(span.fixed.latency_ns, 20'000'000u);
    ASSERT_TRUE(span.fixed.flags & SPAN_HAS_LEDGER);
    EXPECT_NEAR(static_cast<double>(sum_of(span.fixed.ledger)),
                static_cast<double>(span.fixed.latency_ns),
                0.001 * static_cast<double>(span.fixed.latency_ns));
    EXPECT_GT(span.fixed.ledger.sleeping_ns, 19'000'000u);
    EXPECT_TRUE(span.fixed.flags & SPAN_HAS_USER_STACK);
    EXPECT_GT(span.fixed.user_bytes, USER_RED_ZONE);
    const SeenWait* wait = seen.wait_within(span);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->fixed.state, u32{WAIT_SLEEPING});
    EXPECT_GT(wait->stack.size(), 3u);
    EXPECT_TRUE(wait->fixed.flags & WAIT_OF_MEMBER);
    EXPECT_EQ(wait->fixed.waker_context, u16{WAKER_VECTOR});
    EXPECT_EQ(wait->fixed.waker_number, u16{VECTOR_LOCAL_TIMER});
    EXPECT_TRUE(seen.wake_of(*wait)) << "the waker's stack";
  }
}

}  // namespace
}  // namespace overdue
