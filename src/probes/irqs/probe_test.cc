
#include <arpa/inet.h>
#include <sys/socket.h>

#include "probes/span_fixture.h"

namespace overdue {
namespace {

class IrqsProbe : public SpanTest {
 protected:
  IrqsProbe() : SpanTest({SPAN_IRQ, SPAN_SOFTIRQ, SPAN_SOFTIRQ_RAISE, SPAN_VECTOR}) {}

  void want_all(u64 threshold_ns) {
    for (const span_kind kind : {SPAN_IRQ, SPAN_SOFTIRQ, SPAN_SOFTIRQ_RAISE, SPAN_VECTOR})
      want(kind, threshold_ns);
  }
};

/// Long enough for a tick of any kernel.
void spin_for(std::chrono::milliseconds time) {
  const KernelTime end = KernelClock::now() + time;
  while (KernelClock::now() < end) continue;
}

TEST_F(IrqsProbe, SeesTheTickOfTheTimerAndWhatItInterrupted) {
  measure();
  want_all(1);
  arm();
  spin_for(std::chrono::milliseconds(200));
  finish();
  expect_sound();
  const auto ticks = of(SPAN_VECTOR, "local_timer");
  EXPECT_GE(ticks.size(), 4u);
  for (const SeenSpan& tick : ticks) {
    EXPECT_GT(tick.record.latency_ns, 0u);
    EXPECT_EQ(tick.record.begin_tid, 0u);
  }
  EXPECT_TRUE(std::any_of(ticks.begin(), ticks.end(),
                          [](const SeenSpan& tick) { return tick.frames.size() > 2; }));
  EXPECT_FALSE(of(SPAN_SOFTIRQ).empty());
  EXPECT_EQ(receipt().unmatched, 0u);
  EXPECT_EQ(receipt().lost(), nested());
}

TEST_F(IrqsProbe, NamesSoftInterruptsAndWhoRaisedThem) {
  Child child([](Child&) {
    // Loopback raises NET_RX in the sender's own context.
    const int receiver = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(receiver, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(receiver, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      _exit(1);
    // Datagrams that wait for ksoftirqd share a raise.
    char byte = 'x';
    for (int i = 0; i < 50; ++i)
      if (sendto(receiver, &byte, 1, 0, reinterpret_cast<sockaddr*>(&address), length) != 1 ||
          recv(receiver, &byte, 1, 0) != 1)
        _exit(2);
  });
  measure(only(child.pid()));
  want_all(1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  expect_sound();
  const auto raises = of(SPAN_SOFTIRQ_RAISE, "NET_RX");
  EXPECT_GE(
      std::count_if(raises.begin(), raises.end(),
                    [&](const SeenSpan& span) { return span.record.begin_tid == child.pid(); }),
      50);
  EXPECT_GE(of(SPAN_SOFTIRQ, "NET_RX").size(), 50u);
  // Only interrupts and softirqs that the child raised, or that took its time.
  for (const span_kind kind : {SPAN_IRQ, SPAN_SOFTIRQ, SPAN_VECTOR})
    for (const SeenSpan& span : of(kind)) EXPECT_EQ(span.record.header.tid, child.pid());
  for (const SeenSpan& span : of(SPAN_SOFTIRQ_RAISE))
    EXPECT_TRUE(span.record.header.tid == child.pid() || span.record.begin_tid == child.pid());
}

TEST_F(IrqsProbe, AThresholdChangedMeanwhileTakesEffect) {
  measure();
  arm();
  spin_for(std::chrono::milliseconds(100));
  poll();
  EXPECT_TRUE(of(SPAN_VECTOR).empty());  // no kind is wanted
  want(SPAN_VECTOR, 1);
  spin_for(std::chrono::milliseconds(100));
  usleep(5'000);
  poll();
  EXPECT_FALSE(of(SPAN_VECTOR).empty());
  want(SPAN_VECTOR, u64{3600} * 1'000'000'000);
  wait_for_running_programs();  // programs that read the old threshold
  usleep(5'000);                // poll() leaves the newest records
  poll();
  forget();
  spin_for(std::chrono::milliseconds(100));
  finish();
  EXPECT_TRUE(of(SPAN_VECTOR).empty());
  EXPECT_TRUE(of(SPAN_SOFTIRQ).empty());
  EXPECT_EQ(receipt().unmatched, 0u);
}

TEST_F(IrqsProbe, OnlyTheCpusAskedFor) {
  if (possible_cpu_count() < 2) GTEST_SKIP() << "needs two CPUs";
  measure(everything(), {.cpus = {1}});
  want_all(1);
  arm();
  spin_for(std::chrono::milliseconds(200));
  finish();
  EXPECT_FALSE(of(SPAN_VECTOR).empty());
  for (const SeenSpan& span : of(SPAN_VECTOR)) EXPECT_EQ(span.record.header.cpu, 1u);
}

TEST_F(IrqsProbe, HooksOfOtherKindsAreNotAttached) {
  const std::size_t before = own_bpf_objects().links.size();
  measure(everything(), {.kinds = kinds_of({SPAN_IRQ})});
  EXPECT_EQ(own_bpf_objects().links.size(), before + 2);
}

}  // namespace
}  // namespace overdue
