
#include <fcntl.h>
#include <sched.h>
#include <termios.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "kernel/tracing_instance.h"
#include "probes/span_fixture.h"

namespace overdue {
namespace {

/// Makes the kernel work for the test: a work item flushes a pty's buffers to the other side.
struct Pty {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  int slave = -1;

  Pty() {
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) _exit(1);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0) _exit(1);
  }
  void write_lines(int times) const {
    for (int i = 0; i < times; ++i) {
      char line[2] = {'x', '\n'};
      if (write(master, line, sizeof line) != sizeof line) _exit(1);
      if (read(slave, line, sizeof line) != sizeof line) _exit(1);
    }
  }
  /// Writes as fast as another thread reads: the work is queued again as soon as it may be, and at
  /// least once for every 64 bytes.
  void write_bytes(int times) const {
    constexpr int ahead = 64;
    termios raw{};
    cfmakeraw(&raw);
    raw.c_cflag |= CREAD;
    if (tcsetattr(slave, TCSANOW, &raw) != 0) _exit(1);
    std::atomic<int> arrived = 0;
    std::thread reader([&] {
      char bytes[ahead];
      while (arrived < times) {
        const ssize_t size = read(slave, bytes, sizeof bytes);
        if (size <= 0) _exit(1);
        arrived += static_cast<int>(size);
      }
    });
    for (int i = 0; i < times; ++i) {
      while (i - arrived >= ahead) sched_yield();
      if (write(master, "x", 1) != 1) _exit(1);
    }
    reader.join();
  }
};

/// Address of a kernel function; 0 if /proc/kallsyms does not show it.
u64 address_of(const std::string& function) {
  std::ifstream symbols("/proc/kallsyms");
  std::string line;
  while (std::getline(symbols, line))
    if (line.ends_with(" " + function)) return std::stoull(line, nullptr, 16);
  return 0;
}

/// How often the kernel itself reports that a thread queued work of one function. Other functions
/// cannot be compared: delayed work is queued again without having run when its delay is changed.
class QueuedBy {
 public:
  QueuedBy(const std::filesystem::path& tracefs, std::uint32_t tid, u64 function)
      : instance_(tracefs) {
    instance_.write(event_ + "/filter",
                    fmt::format("common_pid == {} && function == {:#x}", tid, function));
    instance_.write(event_ + "/enable", "1");
  }
  std::size_t times() const {
    instance_.write(event_ + "/enable", "0");
    const std::string trace = instance_.read("trace");
    std::size_t found = 0;
    for (std::size_t at = 0; (at = trace.find(" workqueue_queue_work: ", at)) != std::string::npos;)
      ++found, ++at;
    return found;
  }

 private:
  std::string event_ = "events/workqueue/workqueue_queue_work";
  TracingInstance instance_;
};

class WorkqueuesProbe : public SpanTest {
 protected:
  WorkqueuesProbe() : SpanTest({SPAN_WORK, SPAN_WORK_QUEUED}) {}

  void SetUp() override {
    SpanTest::SetUp();
    if (IsSkipped()) return;
    if (!kernel_.tracefs_path()) GTEST_SKIP() << "no tracefs";
    flush_ = address_of("flush_to_ldisc");
    if (flush_ == 0) GTEST_SKIP() << "the kernel does not say where its functions are";
  }

  /// Measures while a child does `work`, and until all of its work has ended. Returns how often the
  /// kernel reports that the child queued a pty's work: less often than there were lines, because
  /// one work item may serve many lines.
  std::size_t measure_child(const std::function<void()>& work, bool everybody) {
    Child child([&](Child&) { work(); });
    child_ = child.pid();
    measure(everybody ? everything() : only(child_));
    want(SPAN_WORK, 1);
    want(SPAN_WORK_QUEUED, 1);
    const QueuedBy kernels(*kernel_.tracefs_path(), child_, flush_);
    arm();
    child.go();
    EXPECT_EQ(child.end(), 0);
    usleep(50'000);  // the last work ends, or later if its worker has no CPU
    for (int tries = everybody ? 100 : 1'000; tries > 0 && probe().open_spans() > 0; --tries)
      usleep(10'000);  // on the whole machine some may always be open
    finish();
    expect_sound();
    EXPECT_EQ(receipt().unmatched, 0u);
    EXPECT_EQ(receipt().lost(), nested()) << ::testing::PrintToString(receipt().lost_by);
    const std::size_t times = kernels.times();
    EXPECT_GT(times, 10u);
    return times;
  }
  std::size_t queued_by_child(span_kind kind) const {
    const auto spans = of(kind);
    return static_cast<std::size_t>(
        std::count_if(spans.begin(), spans.end(), [this](const SeenSpan& span) {
          return span.record.begin_tid == child_ && span.record.subject == flush_;
        }));
  }

  /// Expects each queueing to be tracked, except those in runs that the kernel left out.
  void expect_followed(span_kind kind, std::size_t times) const {
    EXPECT_LE(queued_by_child(kind), times);
    EXPECT_GE(queued_by_child(kind) + nested(), times) << nested() << " runs left out";
  }

  std::uint32_t child_ = 0;
  u64 flush_ = 0;  ///< the function of the work of a pty
};

TEST_F(WorkqueuesProbe, WorkAMemberQueuesIsFollowedToItsEnd) {
  const std::size_t times = measure_child([] { Pty().write_lines(200); }, false);
  for (const span_kind kind : {SPAN_WORK, SPAN_WORK_QUEUED}) {
    expect_followed(kind, times);
    for (const SeenSpan& span : of(kind)) {
      EXPECT_EQ(span.record.begin_tid, child_);
      EXPECT_EQ(span.record.begin_pid, child_);
      EXPECT_GT(span.record.subject, u64{1} << 63);
      EXPECT_NE(span.text(), "");
    }
  }
  EXPECT_EQ(probe().open_spans(), 0u);
}

TEST_F(WorkqueuesProbe, WorkQueuedAgainAsItStartsIsNotLost) {
  const std::size_t times = measure_child([] { Pty().write_bytes(10'000); }, false);
  expect_followed(SPAN_WORK_QUEUED, times);
  expect_followed(SPAN_WORK, times);
}

TEST_F(WorkqueuesProbe, OfEverythingItPairsWhatRunsUnderLoad) {
  const std::size_t times = measure_child([] { Pty().write_lines(2'000); }, true);
  expect_followed(SPAN_WORK_QUEUED, times);
  expect_followed(SPAN_WORK, times);
  EXPECT_LE(probe().open_spans(), 16u);  // work under way at the end
  EXPECT_LE(receipt().cut, 16u);         // … and at the start
}

}  // namespace
}  // namespace overdue
