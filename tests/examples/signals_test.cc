// The worked example of a probe, as a newcomer would use it: signals from their sending to their
// delivery.
#include <signal.h>

#include "probes/span_fixture.h"
#include "signals/signals.h"

namespace overdue {

extern const ProbeInfo signals_probe;
extern const std::span<const SpanKind> signals_kinds;

namespace {

constexpr auto kind = static_cast<span_kind>(SPAN_SIGNAL);
constexpr int times = 20;

class SignalsProbe : public SpanTest {
 protected:
  SignalsProbe() : SpanTest(*signals_probe.spans, {kind}) {}
};

TEST_F(SignalsProbe, EverySignalToAMemberIsASpan) {
  Child child([](Child&) {
    signal(SIGUSR1, [](int) {});
    for (int i = 0; i < times; ++i) raise(SIGUSR1);
  });
  Child bystander([](Child&) {
    signal(SIGUSR1, [](int) {});
    for (int i = 0; i < times; ++i) raise(SIGUSR1);
  });
  measure(only(child.pid()));
  want(kind, 1);
  arm();
  bystander.go();
  child.go();
  EXPECT_EQ(child.end(), 0);
  EXPECT_EQ(bystander.end(), 0);
  finish();
  expect_sound();
  const std::vector<SeenSpan> spans = of(kind);
  EXPECT_GE(spans.size() + nested(), std::size_t{times});
  EXPECT_LE(spans.size(), std::size_t{times});
  for (const SeenSpan& span : spans) {
    EXPECT_EQ(span.record.begin_tid, child.pid());
    EXPECT_GT(span.record.latency_ns, 0u);
    EXPECT_EQ(signals_kinds.front().subject(span.record), "SIGUSR1");
  }
}

TEST_F(SignalsProbe, ABlockedSignalIsOpenAtTheEnd) {
  Child child([](Child& self) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    raise(SIGUSR1);
    self.step();
  });
  measure(only(child.pid()));
  want(kind, 1);
  arm();
  child.go();
  child.wait_step();
  finish();
  ASSERT_EQ(of(kind).size(), 1u);
  EXPECT_TRUE(of(kind).front().is(SPAN_OPEN));
}

}  // namespace
}  // namespace overdue
