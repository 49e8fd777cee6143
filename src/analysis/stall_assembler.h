#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/cpu_samples.h"
#include "analysis/raw_wait.h"
#include "analysis/stack_join.h"
#include "bpf/call_object.h"
#include "bpf/sched.h"
#include "bpf/signals.h"
#include "bpf/span.h"
#include "core/record.h"
#include "core/user_copy.h"

namespace overdue {

/// Sums of a thread's parts at one moment, such as the wake-up of another thread.
struct RawSums {
  std::uint64_t time_ns = 0;
  ledger_parts parts{};
  std::uint64_t throttled_ns = 0;
};

/// Waits of one thread in one place, within a span or window.
struct RawPlace {
  const RawWait* longest = nullptr;
  std::vector<const RawWait*> whole;  ///< waits that do not begin before the window
  std::uint64_t ns = 0;
  std::uint64_t blocked_ns = 0;   ///< part of `ns` in which the thread was blocked
  std::uint64_t runqueue_ns = 0;  ///< part of `ns` in the run queue after a wake-up
  std::uint64_t count = 0;
  std::uint64_t longest_ns = 0;
};

/// Time of a thread within a window. The parts, throttled_ns and unknown_ns add up to the window.
struct RawLedger {
  ledger_parts parts{};
  std::uint64_t throttled_ns = 0;
  std::uint64_t unknown_ns = 0;
  std::vector<RawPlace> places;  ///< longest first
};

/// One step of a chain of wakers: the waker of the step before and, if the waker was a thread that
/// waited meanwhile, its wait.
struct RawLink {
  const RawWaker* waker = nullptr;
  const RawWait* wait = nullptr;      ///< null: the waker mostly ran, or was an interrupt
  bool is_thread = false;             ///< a thread, or an interrupt in the thread's own call
  std::uint64_t overlap_ns = 0;       ///< part of during_ns in waits in the place of `wait`
  std::uint64_t runqueue_ns = 0;      ///< part of overlap_ns in the run queue after a wake-up
  std::uint64_t during_ns = 0;        ///< length of the step's window
  std::optional<RawLedger> ledger;    ///< the thread's time in the window
  std::vector<RawSample*> samples{};  ///< the thread's samples in the window
  RawSample* waking = nullptr;        ///< the thread as it woke the thread of the step before
  bool is_cut = false;  ///< the chain may go on: depth limit, a circle, or dropped waits
};

/// A late span with all records that explain it. Views and pointers are valid during the call that
/// hands it over.
struct RawStall {
  span_record span{};
  std::vector<std::uint64_t> kernel_stack;
  user_registers registers{};  ///< valid if span.flags has SPAN_HAS_USER_STACK
  UserCopy user_stack;
  std::optional<Record> call;         ///< the system call's own record
  std::string begin_comm;             ///< name of span.begin_tid; empty: unknown
  std::vector<const RawWait*> waits;  ///< waits within the span, in time order
  bool waits_forgotten = false;       ///< earlier waits of the span were dropped
  std::vector<RawPlace> places;       ///< places of the waits; longest blocked time first
  std::vector<RawLink> chain;         ///< chain of wakers of longest()
  std::vector<RawSample*> samples;    ///< samples of the thread
  CpuSamples* cpu_samples = nullptr;  ///< samples of all threads
  /// A system call was late after its end, on the way back to its program. span.subject is the
  /// number of the call. If the thread waited there, the call has no record.
  bool is_way_back = false;
  /// Arguments of the call, if the user stack is known.
  std::array<std::uint64_t, 6> arguments{};
  std::optional<signal_handler> handler;  ///< signal handler that ran on the way back
  std::optional<call_object> object;      ///< behind the call's descriptor
  /// Of an open call: the limit that throttles the thread at present.
  std::optional<sched_throttle> throttle;

  /// The longest wait in the place with the longest blocked time; null: no waits.
  const RawWait* longest() const { return places.empty() ? nullptr : places.front().longest; }
  std::uint64_t begin_ns() const {
    return span.latency_ns < span.header.time_ns ? span.header.time_ns - span.latency_ns : 0;
  }
};

/// Thresholds from which on waits of the target's threads are late spans themselves.
struct LateWaits {
  std::uint64_t offcpu_ns = 0;  ///< time off the CPU; 0: none
  std::uint64_t wakeup_ns = 0;  ///< time from wake-up to running; 0: none
  std::uint64_t call_ns = 0;    ///< time from a call's begin to the end of a wait after it; 0: none
  std::uint64_t since_ns = 0;   ///< spans that begin at this time or earlier are left out
  bool within_calls = true;     ///< time off the CPU within a known system call is a span as well
  std::vector<std::uint32_t> cpus = {};  ///< CPUs on which the waits have to end; empty: all
};

/// Joins late spans with the waits within them, from records in time order. Keeps records that may
/// still explain a span, bounded in number. Used by one thread.
class StallAssembler {
 public:
  struct Limits {
    std::size_t waits = 32768;  ///< waits of all threads together: at most 90 MB
    std::size_t waits_of_a_thread = 256;
    std::size_t wakes_of_a_thread = 8;
    std::size_t runs_of_a_wait = 4;
    std::size_t stops = 256;
    std::size_t threads = 65536;  ///< more than `waits`, so that threads without waits exist
    unsigned depth = 8;           ///< steps of a chain
  };
  using Handler = std::function<void(const RawStall&)>;
  using OwnCall = std::function<bool(const RawWaker&)>;
  using WayBack = std::function<bool(const RawWait&)>;

  explicit StallAssembler(Handler handler) : StallAssembler(std::move(handler), Limits()) {}
  StallAssembler(Handler handler, Limits limits)
      : handler_(std::move(handler)),
        limits_(limits),
        join_([this](const Record& one, const Record* stack) { take(one, stack); }) {}
  StallAssembler(const StallAssembler&) = delete;
  StallAssembler& operator=(const StallAssembler&) = delete;

  void look_for(LateWaits late) { late_ = std::move(late); }
  /// `own_call` says whether an interrupt that woke a thread ran in a call of the interrupted
  /// thread, and on behalf of that call. A chain then goes on with the interrupted thread.
  void ask_for_own_calls(OwnCall own_call) { own_call_ = std::move(own_call); }
  /// `way_back` says whether a wait after the end of a call was on the way back to the program.
  void ask_for_ways_back(WayBack way_back) { way_back_ = std::move(way_back); }

  /// Takes a record of any kind; ignores records that explain nothing.
  void record(const Record& record) { join_.record(record); }
  /// As in StackJoin: stalls may be held back until their user stacks have come.
  void advance(std::uint64_t now_ns) { join_.advance(now_ns); }
  /// It is `now` in the session. Younger records than `reading_behind` may not have been read yet.
  void tick(KernelTime now) {
    constexpr Duration reading_behind = std::chrono::milliseconds(200);
    advance(static_cast<std::uint64_t>((now - reading_behind).time_since_epoch().count()));
  }
  void finish() { join_.finish(); }

  /// Number of stalls that lack waits because the limits left no room for them.
  std::uint64_t waits_forgotten() const { return stalls_without_; }

 private:
  struct Thread {
    std::string comm;  ///< name in the thread's last wait
    std::deque<RawWait> waits;
    std::uint64_t forgotten_until_ns = 0;  ///< end of the last wait that was dropped
    std::vector<RawSums> wakes;            ///< the last wake-ups by this thread after long waits
    std::optional<RawWaker> waker;         ///< waker of the wait that has not ended yet
    std::uint64_t woken_ns = 0;
    std::unique_ptr<const sched_throttle> throttle;  ///< for the wait or open call that comes next
    std::vector<sched_runs> runs;                    ///< for the wait whose record comes next
    std::unique_ptr<const wait_places> places;       ///< for the late call whose span comes next
    std::optional<signal_handler> handler;           ///< for the late call whose span comes next
    std::unique_ptr<const call_object> object;       ///< for the late call whose span comes next
    std::uint64_t late_call_ns = 0;                  ///< begin of the thread's last late call
    std::vector<std::byte> call;                     ///< record of the last late system call
    const Schema* call_schema = nullptr;
  };

  Thread& thread_of(std::uint32_t tid);
  void take(const Record& record, const Record* stack);
  void wait(const Record& record, const Record* stack);
  void wake(const Record& record);
  void stop(const Record& record);
  std::unique_ptr<const stop_signal> stop_of(const sched_wait& wait) const;
  void runs(const Record& record);
  void places(const Record& record);
  void span(const Record& record);
  void late_wait(Thread& thread, const Record* stack);
  void late_way_back(Thread& thread, const RawWait& wait, const Record* stack);
  void hand_over_wait(span_kind kind, const RawWait& wait, std::uint64_t latency_ns,
                      const Record* stack);
  void hand_over(RawStall& stall, const Record* stack);
  void find_waits(RawStall& stall);
  void find_chain(RawStall& stall);
  /// Adds the time of the thread of `link.waker` meanwhile, and its wait if that explains the step.
  void follow(RawLink& link, std::uint64_t begin_ns, std::uint64_t end_ns);
  void make_room();

  Handler handler_;
  Limits limits_;
  StackJoin join_;
  CpuSamples samples_;
  LateWaits late_;
  OwnCall own_call_;
  WayBack way_back_;
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::deque<stop_signal> stops_;    ///< the last stop signals, of all processes
  std::deque<std::uint32_t> order_;  ///< thread ids of the waits, oldest first
  std::uint64_t last_id_ = 0;
  std::uint64_t stalls_without_ = 0;
};

}  // namespace overdue
