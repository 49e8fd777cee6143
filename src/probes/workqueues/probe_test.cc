#include "probes/workqueues/probe.h"

#include <fcntl.h>

#include <filesystem>

#include "probes/span_fixture.h"

namespace overdue {
namespace {

class WorkqueuesProbe : public SpanTest {
 protected:
  WorkqueuesProbe() : SpanTest(workqueues_spans, {SPAN_WORK, SPAN_WORK_QUEUED}) {}
};

/// Work of the kernel on our behalf: a pty's buffers are flushed to the other side by a work item.
void write_to_pty(int times) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) _exit(1);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (slave < 0) _exit(1);
  for (int i = 0; i < times; ++i) {
    char line[2] = {'x', '\n'};
    if (write(master, line, sizeof line) != sizeof line) _exit(1);
    if (read(slave, line, sizeof line) != sizeof line) _exit(1);
  }
}

TEST_F(WorkqueuesProbe, WorkAMemberQueuesIsFollowedToItsEnd) {
  constexpr int times = 200;
  Child child([](Child&) { write_to_pty(times); });
  measure(only(child.pid()));
  want(SPAN_WORK, 1);
  want(SPAN_WORK_QUEUED, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  usleep(50'000);  // the last one's end, and longer where its worker has no CPU
  for (int tries = 0; tries < 1'000 && probe().open_spans() > 0; ++tries) usleep(10'000);
  finish();
  expect_sound();
  for (const span_kind kind : {SPAN_WORK, SPAN_WORK_QUEUED}) {
    const auto spans = of(kind);
    EXPECT_GE(spans.size(), std::size_t{times});
    for (const SeenSpan& span : spans) {
      EXPECT_EQ(span.record.begin_tid, child.pid());
      EXPECT_EQ(span.record.begin_pid, child.pid());
      EXPECT_GT(span.record.subject, u64{1} << 63);
      EXPECT_NE(span.text(), "");
    }
  }
  // Started once for being queued once; the function is the same at both ends.
  EXPECT_EQ(of(SPAN_WORK).size(), of(SPAN_WORK_QUEUED).size());
  EXPECT_EQ(probe().open_spans(), 0u);
  EXPECT_EQ(receipt().unmatched, 0u);
  EXPECT_EQ(receipt().lost(), nested());
}

TEST_F(WorkqueuesProbe, OfEverythingItPairsWhatRunsUnderLoad) {
  Child child([](Child&) { write_to_pty(2'000); });
  measure();
  want(SPAN_WORK, 1);
  want(SPAN_WORK_QUEUED, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  usleep(50'000);
  finish();
  expect_sound();
  EXPECT_GE(of(SPAN_WORK).size(), 2'000u);
  EXPECT_LE(probe().open_spans(), 16u);  // what is under way at the end
  EXPECT_EQ(receipt().unmatched, 0u);
  EXPECT_LE(receipt().cut, 16u);  // … and was at the start
  EXPECT_EQ(receipt().lost(), nested());
}

}  // namespace
}  // namespace overdue
