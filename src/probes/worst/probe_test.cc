// Everything that finds no room is counted: events within a window, windows, and the wake-up that
// the end of the session cuts.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/worst/probe.h"
#include "probes/worst/worst.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

constexpr int cpu_in_question = 0;
/// Number of wake-ups that a hardened kernel may hide.
constexpr unsigned hidden_wakeups = 2;

bool become_real_time(int priority) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu_in_question, &set);
  const sched_param param{.sched_priority = priority};
  return sched_setaffinity(0, sizeof set, &set) == 0 &&
         sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}

/// A thread that wakes up behind a higher-priority one, which has the CPU; the caller stays off it.
class Displaced {
 public:
  Displaced() {
    sched_getaffinity(0, sizeof before_, &before_);
    spinner_ = std::thread([this] { spin(); });
    wakee_ = std::thread([this] { be_woken(); });
    there_.acquire();
    there_.acquire();
    cpu_set_t others = before_;
    CPU_CLR(cpu_in_question, &others);
    can_ = can_ && CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0;
  }
  ~Displaced() {
    ends_ = true;
    to_spinner_.release();
    to_wakee_.release();
    spinner_.join();
    wakee_.join();
    sched_setaffinity(0, sizeof before_, &before_);
  }

  bool can() const { return can_; }
  /// Makes one wake-up that takes about `length`; calls `meanwhile` while the thread waits. Returns
  /// the least time that the wake-up took: on a busy machine the waker may be late.
  Duration round(Duration length, const std::function<void()>& meanwhile = nullptr) {
    length_ = length;
    to_spinner_.release();
    there_.acquire();
    to_wakee_.release();
    const KernelTime woken = KernelClock::now();
    if (meanwhile) meanwhile();
    there_.acquire();
    std::this_thread::sleep_for(1ms);  // both threads wait again
    return spun_until() > woken ? spun_until() - woken : Duration{};
  }
  /// The time until which the woken thread certainly did not have the CPU, in the last round.
  KernelTime spun_until() const { return spun_until_; }

 private:
  void spin() {
    if (!become_real_time(50)) can_ = false;
    there_.release();
    while (to_spinner_.acquire(), !ends_) {
      const KernelTime until = KernelClock::now() + length_.load();
      there_.release();
      while (KernelClock::now() < until) continue;
      spun_until_ = until;
    }
  }
  void be_woken() {
    if (!become_real_time(10)) can_ = false;
    there_.release();
    while (to_wakee_.acquire(), !ends_) there_.release();
  }

  cpu_set_t before_{};
  std::atomic<bool> can_ = true, ends_ = false;
  std::atomic<Duration> length_{};
  std::atomic<KernelTime> spun_until_{};
  std::counting_semaphore<> to_spinner_{0}, to_wakee_{0}, there_{0};
  std::thread spinner_, wakee_;
};

struct SeenWindow : worst_window {
  std::vector<worst_event> inside{};
};

struct SeenWindows {
  std::vector<SeenWindow> windows;
  RecordHandler handler() {
    return [this](const Record& record) {
      if (record.schema->id == RECORD_WORST_WINDOW)
        windows.push_back({record.as<worst_window>()});
      else
        windows.back().inside.push_back(record.as<worst_event>());
    };
  }
  const SeenWindow& longest() const {
    return *std::max_element(windows.begin(), windows.end(), [](const auto& a, const auto& b) {
      return a.latency_ns < b.latency_ns;
    });
  }
};

class Worst : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (!displaced.can()) GTEST_SKIP() << "no real-time priorities, or no second CPU";
  }

  void measure(WorstOptions options) {
    options.tracer = WORST_WAKEUP_RT;
    options.whole_machine = true;
    session = std::make_unique<Session>(MembershipRules{}, 0);
    auto made = std::make_unique<WorstProbe>(options, session->membership().maps());
    probe = made.get();
    session->add(std::move(made));
    session->arm();
  }
  /// Makes `wanted` wake-ups that take at least `least`, and `length` on a machine that is not
  /// busy. Wake-ups that were not tracked to their end do not count.
  void make_late(
      unsigned wanted, const std::function<void()>& after_each = [] {}, Duration length = 4ms,
      Duration least = 1ms) {
    for (unsigned made = 0, tried = 0; made < wanted && tried < 10 * wanted; ++tried) {
      const auto given_up = [this] {
        const WorstProbe::Figures figures = probe->figures();
        return figures.displaced + figures.busy + figures.unseen;
      };
      const u64 before = given_up();
      made += displaced.round(length) >= least && given_up() == before;
      after_each();
    }
  }

  static constexpr int sleeps = 60;
  /// A window within which the caller slept and woke up `sleeps` times. A busy machine may leave
  /// too little time for that: then other windows are tried, longer ones in the end.
  const SeenWindow* window_of_sleeps() {
    for (int tries = 0; tries < 50; ++tries) {
      KernelTime began, ended;
      displaced.round(20ms * (1 + tries / 10), [&] {
        began = KernelClock::now();
        for (int i = 0; i < sleeps; ++i) std::this_thread::sleep_for(1us);
        ended = KernelClock::now();
      });
      probe->poll(seen.handler());
      if (ended > displaced.spun_until()) continue;
      for (const SeenWindow& window : seen.windows)
        if (KernelTime(Duration(window.begin_ns)) <= began &&
            KernelTime(Duration(window.header.time_ns)) >= ended)
          return &window;
    }
    return nullptr;
  }

  Displaced displaced;
  std::unique_ptr<Session> session;
  WorstProbe* probe = nullptr;
  SeenWindows seen;
};

TEST_F(Worst, CountsEventsWithoutRoom) {
  measure({.keep = 0, .threshold = 1ms, .events_per_cpu = 16});
  const SeenWindow* const window = window_of_sleeps();
  ASSERT_NE(window, nullptr);
  EXPECT_GT(window->lost_events, 0u);
  EXPECT_EQ(window->events, window->inside.size());
  for (u32 cpu = 0; cpu < possible_cpu_count(); ++cpu)
    EXPECT_LE(std::count_if(window->inside.begin(), window->inside.end(),
                            [cpu](const worst_event& event) { return event.header.cpu == cpu; }),
              16);
  for (const worst_event& event : window->inside) {
    EXPECT_GE(event.header.time_ns, window->begin_ns);
    EXPECT_LE(event.header.time_ns, window->header.time_ns);
  }
  // The last events are kept.
  EXPECT_EQ(window->inside.back().header.time_ns, window->header.time_ns);
}

TEST_F(Worst, HasRoomForWhatHappensInAnOrdinaryWindow) {
  measure({.keep = 0, .threshold = 1ms});
  const SeenWindow* window = window_of_sleeps();
  // Another program on a busy machine may cause thousands of events meanwhile.
  for (int tries = 0; tries < 10 && window && window->lost_events > 0; ++tries)
    window = window_of_sleeps();
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(window->lost_events, 0u);
  EXPECT_GT(window->inside.size(), static_cast<std::size_t>(sleeps));
}

TEST_F(Worst, CountsWindowsWithoutRoom) {
  constexpr unsigned rounds = 12, sets = WORST_SETS - 1;  // one set is being written
  measure({.keep = 0, .threshold = 1ms});
  make_late(5 * rounds);  // a busy machine may spoil many
  const WorstProbe::Figures figures = probe->figures();
  EXPECT_GE(figures.windows + hidden_wakeups, rounds - sets);
  session->finish(seen.handler());
  EXPECT_EQ(seen.windows.size(), sets);
  EXPECT_GE(seen.windows.size() + figures.windows + hidden_wakeups, rounds);
  EXPECT_EQ(session->receipt().lost_by.at("windows"), probe->figures().windows);
  for (const worst_window& window : seen.windows) EXPECT_GE(window.latency_ns, 1'000'000u);
}

TEST_F(Worst, LosesNoneThatIsReadInTime) {
  measure({.keep = 0, .threshold = 1ms});
  make_late(60, [this] { probe->poll(seen.handler()); });
  session->finish(seen.handler());
  EXPECT_EQ(probe->figures().windows, 0u);
  EXPECT_GE(seen.windows.size() + hidden_wakeups, 12u);
  // A hypervisor may take the CPU of the program that holds the lock.
  EXPECT_EQ(session->receipt().lost(), probe->figures().busy);
}

TEST_F(Worst, KeepsTheLongestThoughNobodyReads) {
  measure({});
  for (const Duration length :
       {2ms, 3ms, 4ms, 5ms, 6ms, 7ms, 8ms, 9ms, 10ms, 11ms, 20ms, 4ms, 20ms})
    displaced.round(length);
  make_late(hidden_wakeups + 1, [] {}, 20ms, 16ms);
  session->finish(seen.handler());
  ASSERT_FALSE(seen.windows.empty());
  const u64 longest_ns = seen.longest().latency_ns;
  EXPECT_EQ(longest_ns, probe->figures().longest_ns);
  EXPECT_GT(longest_ns, 15'000'000u);
  // A hypervisor may take the CPU of the program that holds the lock.
  EXPECT_EQ(session->receipt().lost(), probe->figures().busy);
}

TEST_F(Worst, DoesNotKeepWhatIsBelowTheBar) {
  measure({.keep = 0});
  probe->raise_bar(1'000'000'000);
  make_late(hidden_wakeups + 1);
  session->finish(seen.handler());
  EXPECT_TRUE(seen.windows.empty());
  EXPECT_GE(probe->figures().tracked, 1u);
}

TEST_F(Worst, CountsTheOneThatTheEndCuts) {
  constexpr std::size_t wanted = 5;
  std::size_t rounds = 0, cut = 0;
  for (int tries = 0; tries < 50 && rounds < wanted; ++tries) {
    seen = {};
    measure({});
    const auto ended = [this] {
      const WorstProbe::Figures figures = probe->figures();
      return figures.tracked + figures.displaced + figures.busy + figures.unseen;
    };
    u64 before = 0;
    KernelTime waiting;
    // The programs must be detached before the thread runs: a busy machine takes longer for that.
    displaced.round(30ms * (1 + tries / 10), [&] {
      before = ended();
      waiting = KernelClock::now();
      std::this_thread::sleep_for(2ms);
      session->finish(seen.handler());
    });
    // On a busy machine this thread, or another, may have run by then: such a round does not count.
    if (waiting >= displaced.spun_until() || ended() != before) continue;
    ++rounds;
    cut += session->receipt().cut;
    for (const worst_window& window : seen.windows)
      EXPECT_LT(KernelTime(Duration(window.header.time_ns)), waiting);
  }
  EXPECT_EQ(rounds, wanted);
  EXPECT_LE(cut, wanted);
  EXPECT_GE(cut + hidden_wakeups, wanted);
}

}  // namespace
}  // namespace overdue
