// The texts of findings of each kind of span, and the waits that are findings themselves.
#include "analysis/span_words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "analysis/explain.h"
#include "analysis/records_fixture.h"
#include "bpf/pagefaults.h"
#include "core/span_schema.h"

namespace overdue {
namespace {

/// Names every address `f` and its last two digits; knows one thread.
class Namer final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const std::uint64_t address : addresses)
      stack.push_back({.address = address, .name = fmt::format("f{}", address % 100)});
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
    return {};
  }
  std::string thread_name(std::uint32_t, std::uint32_t tid) override {
    return tid == 70 ? "dd" : "";
  }
};

template <std::size_t N>
void set_text(char (&to)[N], std::string_view text) {
  text.copy(to, N - 1);
}

span_record make(span_kind kind, u64 subject = 0, u64 detail = 0, std::string_view text = {}) {
  span_record span{};
  span.header.time_ns = 5000;
  span.header.pid = 7;
  span.header.tid = 8;
  set_text(span.header.comm, "context");
  span.span = static_cast<u16>(kind);
  span.latency_ns = 1000;
  span.subject = subject;
  span.detail = detail;
  set_text(span.text, text);
  return span;
}

Finding found(const span_record& span) {
  std::optional<Finding> finding;
  Namer namer;
  StallAssembler assembler([&](const RawStall& stall) { finding = explain(stall, namer, {}); });
  assembler.record({&span_schema, std::as_bytes(std::span(&span, 1))});
  return finding.value();
}

TEST(SpanWords, EachKindSaysWhatItWas) {
  EXPECT_EQ(found(make(SPAN_IRQ, 24, 1, "virtio1-req.0")).title, "irq 24 virtio1-req.0");
  EXPECT_EQ(found(make(SPAN_SOFTIRQ, 3, 0, "NET_RX")).title, "softirq NET_RX");
  EXPECT_EQ(found(make(SPAN_SOFTIRQ_RAISE, 1, 0, "TIMER")).title, "softirq_raise TIMER");
  EXPECT_EQ(found(make(SPAN_VECTOR, 236, 0, "local_timer")).title, "vector local_timer");
  EXPECT_EQ(found(make(SPAN_TIMER, 1042)).title, "timer f42 late");
  EXPECT_EQ(found(make(SPAN_WORK, 1042, 0, "events")).title, "work f42 of events");
  EXPECT_EQ(found(make(SPAN_WORK_QUEUED, 1042)).title, "work_queued f42 of a workqueue");
  EXPECT_EQ(found(make(SPAN_LOCK, 0x10, 2, "rwsem read")).title, "lock rwsem read 0x10");
  EXPECT_EQ(found(make(SPAN_PAGEFAULT, 0x1000, PAGEFAULT_MAJOR | PAGEFAULT_FILE, "x.so")).title,
            "pagefault major x.so read 0x1000");
  EXPECT_EQ(found(make(SPAN_PAGEFAULT, 0x2008, PAGEFAULT_MEMORY | PAGEFAULT_WRITE)).title,
            "pagefault minor anonymous write 0x2008");
  EXPECT_EQ(found(make(SPAN_PAGEFAULT, 0x2008, PAGEFAULT_EXECUTE)).title,
            "pagefault minor unknown execute 0x2008");
  EXPECT_EQ(found(make(SPAN_PAIR, 4711, 0, "life")).title, "life key 4711");
  EXPECT_EQ(found(make(SPAN_PAIR, ~u64{0}, 0xffff'8881'0000'0000, "x")).title,
            "x key -1;0xffff888100000000");
}

TEST(SpanWords, Requests) {
  span_record span = make(SPAN_BLOCK, u64{2048} << 32 | 254 << 20, 8 << 20, "vda");
  EXPECT_EQ(found(span).title, "block vda read 8.0 MB sector 2048");
  span.flags = SPAN_WRITE | SPAN_FAILED;
  span.detail = 512;
  EXPECT_EQ(found(span).title, "block vda write 512 B sector 2048 failed");
  span.subject |= u64{0xffffffff} << 32;
  EXPECT_EQ(found(span).title, "block vda write 512 B failed") << "a sector that does not fit";
  span.flags = SPAN_FLUSH;
  span.detail = 0;
  EXPECT_EQ(found(span).title, "block vda flush");
}

TEST(SpanWords, Connections) {
  const u64 ends = u64{0x7f000001} << 32 | 0x7f000001, ports = u64{2} << 32 | u64{4000} << 16 | 80;
  span_record span = make(SPAN_TCP_CONNECT, ends, ports);
  EXPECT_EQ(found(span).title, "tcp connect 127.0.0.1:80");
  span.flags = SPAN_FAILED;
  EXPECT_EQ(found(span).title, "tcp connect 127.0.0.1:80 given up");
  span.detail |= u64{ECONNREFUSED} << 48;
  const Finding refused = found(span);
  EXPECT_EQ(refused.title, "tcp connect 127.0.0.1:80 refused");
  EXPECT_EQ(refused.error, "ECONNREFUSED");
  EXPECT_EQ(refused.arguments, std::vector<std::string>{"from 127.0.0.1:4000"});
  span.detail = ports | u64{EHOSTUNREACH} << 48;
  EXPECT_EQ(found(span).title, "tcp connect 127.0.0.1:80 failed: EHOSTUNREACH");
}

TEST(SpanWords, TextOfOthersIsMadeSafe) {
  EXPECT_EQ(found(make(SPAN_IRQ, 1, 0, "a\033[2J")).title, "irq 1 a\\x1b[2J");
}

TEST(SpanWords, WhoseItWas) {
  span_record span = make(SPAN_BLOCK, 0, 512, "vda");
  EXPECT_TRUE(found(span).is_bystander);
  span.begin_pid = span.begin_tid = 70;
  const Finding block = found(span);
  EXPECT_EQ(block.thread.tid, 70U);
  EXPECT_EQ(block.thread.comm, "dd");
  EXPECT_FALSE(block.is_bystander);
  EXPECT_FALSE(block.ended_by) << "the interrupted thread is chance";

  span = make(SPAN_PAIR, 1, 0, "own");
  span.begin_pid = span.begin_tid = 70;
  const Finding own = found(span);
  EXPECT_EQ(own.thread.tid, 70U);
  ASSERT_TRUE(own.ended_by);
  EXPECT_EQ(own.ended_by->comm, "context");
  span.begin_pid = 7;
  span.begin_tid = 8;
  EXPECT_FALSE(found(span).ended_by) << "the same";
}

TEST(SpanWords, CausesOfInterruptsDoNotDependOnWhomTheyMet) {
  span_record one = make(SPAN_IRQ, 24, 0, "disk"), other = one;
  set_text(other.header.comm, "other");
  EXPECT_EQ(found(one).cause, found(other).cause);
  one.span = other.span = SPAN_LOCK;
  EXPECT_NE(found(one).cause, found(other).cause);
}

sched_wait make_wait(u64 out_ns, u64 wake_ns, u64 in_ns, u32 state) {
  sched_wait wait{};
  wait.header.time_ns = in_ns;
  wait.header.pid = 7;
  wait.header.tid = 8;
  wait.header.cpu = 1;
  wait.out_ns = out_ns;
  wait.wake_ns = wake_ns;
  wait.state = state;
  wait.flags = WAIT_OF_MEMBER;
  wait.waker_context = wake_ns ? WAKER_SOFTIRQ : WAKER_UNKNOWN;
  wait.waker_number = 3;
  return wait;
}

std::vector<Finding> found(const sched_wait& wait, const LateWaits& late) {
  std::vector<Finding> findings;
  Namer namer;
  StallAssembler assembler(
      [&](const RawStall& stall) { findings.push_back(explain(stall, namer, {})); });
  assembler.look_for(late);
  assembler.record({&wait_schema, std::as_bytes(std::span(&wait, 1))});
  return findings;
}

TEST(LateWaits, OffTheCpuAndWokenLate) {
  const sched_wait wait = make_wait(1000, 7000, 10'000, WAIT_SLEEPING);
  const auto findings = found(wait, {.offcpu_ns = 9000, .wakeup_ns = 3000});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].title, "offcpu sleeping");
  EXPECT_EQ(findings[0].latency_ns, 9000U);
  EXPECT_EQ(findings[0].breakdown->ns(ShareKind::sleeping), 6000U);
  EXPECT_EQ(findings[0].breakdown->ns(ShareKind::runqueue), 3000U);
  EXPECT_EQ(findings[0].breakdown->unexplained_ns, 0U);
  EXPECT_EQ(findings[1].title, "wakeup by softirq NET_RX");
  EXPECT_EQ(findings[1].latency_ns, 3000U);
  EXPECT_EQ(findings[1].breakdown->ns(ShareKind::runqueue), 3000U);
  EXPECT_TRUE(found(wait, {}).empty());
  EXPECT_TRUE(found(wait, {.offcpu_ns = 9001, .wakeup_ns = 3001}).empty());
}

TEST(LateWaits, PreemptedAndDeep) {
  const sched_wait preempted = make_wait(1000, 0, 10'000, WAIT_PREEMPTED);
  const auto findings = found(preempted, {.offcpu_ns = 1, .wakeup_ns = 1});
  ASSERT_EQ(findings.size(), 1U) << "nobody woke it";
  EXPECT_EQ(findings[0].breakdown->ns(ShareKind::preempted), 9000U);
  const auto deep = found(make_wait(1000, 7000, 10'000, WAIT_UNINTERRUPTIBLE), {.offcpu_ns = 1});
  ASSERT_EQ(deep.size(), 1U);
  EXPECT_EQ(deep[0].breakdown->ns(ShareKind::uninterruptible), 6000U);
  EXPECT_EQ(deep[0].name, "uninterruptible");
}

TEST(LateWaits, OnlyTheTargetsAndOnlyWhole) {
  sched_wait wait = make_wait(1000, 7000, 10'000, WAIT_SLEEPING);
  const LateWaits all{.offcpu_ns = 1, .wakeup_ns = 1};
  EXPECT_EQ(found(wait, all).size(), 2U);
  LateWaits since = all;
  since.since_ns = 1000;
  EXPECT_EQ(found(wait, since).size(), 1U) << "it slept already when we came";
  since.since_ns = 7000;
  EXPECT_TRUE(found(wait, since).empty());
  LateWaits elsewhere = all;
  elsewhere.cpus = {0, 2};
  EXPECT_TRUE(found(wait, elsewhere).empty());
  wait.flags = 0;
  EXPECT_TRUE(found(wait, all).empty());
}

}  // namespace
}  // namespace overdue
