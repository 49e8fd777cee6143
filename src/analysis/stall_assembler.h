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
#include "bpf/sched.h"
#include "bpf/signals.h"
#include "bpf/span.h"
#include "core/record.h"

namespace overdue {

/// What a thread had done until it woke another.
struct RawSums {
  std::uint64_t time_ns = 0;
  ledger_parts parts{};
  std::uint64_t throttled_ns = 0;
};

/// Waits of one thread in one place, within some time.
struct RawPlace {
  const RawWait* longest = nullptr;
  std::vector<const RawWait*> whole;  ///< but for one that began before
  std::uint64_t ns = 0;
  std::uint64_t blocked_ns = 0;   ///< of it: it could not run
  std::uint64_t runqueue_ns = 0;  ///< of it: woken, waiting for a CPU
  std::uint64_t count = 0;
  std::uint64_t longest_ns = 0;
};

/// What a thread did within some time; with `unknown_ns` the parts add up to it.
struct RawLedger {
  ledger_parts parts{};
  std::uint64_t throttled_ns = 0;
  std::uint64_t unknown_ns = 0;
  std::vector<RawPlace> places;  ///< longest first
};

/// One step of the way from a wait to what it waited for: the waker of the step before, and, where
/// that thread had itself waited meanwhile, its wait.
struct RawLink {
  const RawWaker* waker = nullptr;
  const RawWait* wait = nullptr;      ///< null: the waker ran mostly, or was an interrupt
  bool is_thread = false;             ///< it was no interrupt, or one for its own thread
  std::uint64_t overlap_ns = 0;       ///< how much of the step before waits in that place explain
  std::uint64_t runqueue_ns = 0;      ///< of that: woken, waiting for a CPU
  std::uint64_t during_ns = 0;        ///< the time that the step is about
  std::optional<RawLedger> ledger;    ///< of the thread, in that time
  std::vector<RawSample*> samples{};  ///< likewise
  RawSample* waking = nullptr;        ///< the thread as it woke the one before
  bool is_cut = false;                ///< it may go on: deeper than we look, in a circle, forgotten
};

/// A late span with all that was recorded to explain it. Views and pointers are valid during the
/// call that hands it over.
struct RawStall {
  span_record span{};
  std::vector<std::uint64_t> kernel_stack;
  user_registers registers{};             ///< where span.flags has SPAN_HAS_USER_STACK
  std::span<const std::byte> user_stack;  ///< from registers.rsp - USER_RED_ZONE upwards
  std::optional<Record> call;             ///< of a system call: its own record
  std::string begin_comm;                 ///< of span.begin_tid; empty: not known
  std::vector<const RawWait*> waits;      ///< within the span, in time order
  bool waits_forgotten = false;           ///< there were more, but no room to keep them
  std::vector<RawPlace> places;           ///< of its waits; where it was blocked longest first
  std::vector<RawLink> chain;             ///< of the longest wait in that place
  std::vector<RawSample*> samples;        ///< of its thread
  CpuSamples* cpu_samples = nullptr;      ///< of all threads
  /// Of a system call that was late on the way back to its program, after its end: its number is
  /// the span's subject, and of one that waited there is no record.
  bool is_way_back = false;
  /// Of the call, where the user stack is known.
  std::array<std::uint64_t, 6> arguments{};
  std::optional<signal_handler> handler;  ///< that its thread ran on that way

  /// Null where it had no waits.
  const RawWait* longest() const { return places.empty() ? nullptr : places.front().longest; }
  std::uint64_t begin_ns() const {
    return span.latency_ns < span.header.time_ns ? span.header.time_ns - span.latency_ns : 0;
  }
};

/// Which waits of the target's threads are late spans themselves.
struct LateWaits {
  std::uint64_t offcpu_ns = 0;  ///< from as long as this off the CPU; 0: none
  std::uint64_t wakeup_ns = 0;  ///< from as long as this between wake-up and running; 0: none
  std::uint64_t call_ns = 0;    ///< behind the end of a call, as long as this with it; 0: none
  std::uint64_t since_ns = 0;   ///< what began before this is cut, and none
  std::vector<std::uint32_t> cpus = {};  ///< only those that end on these; empty: all
};

/// Puts late spans and the waits within them together, from records in time order. Keeps what may
/// still explain something, within bounds. One thread.
class StallAssembler {
 public:
  struct Limits {
    std::size_t waits = 32768;  ///< of all threads together: at most 90 MB
    std::size_t waits_of_a_thread = 256;
    std::size_t wakes_of_a_thread = 8;
    std::size_t runs_of_a_wait = 4;
    std::size_t stops = 256;
    std::size_t threads = 65536;  ///< more than `waits`, so that some can be forgotten
    unsigned depth = 8;           ///< of chains
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
  /// `own_call` says of interrupts that woke somebody whether they ran in a call of the thread that
  /// they met, and for it: chains then go on with that thread.
  void ask_for_own_calls(OwnCall own_call) { own_call_ = std::move(own_call); }
  /// `way_back` says of waits behind a call's end whether they were on the way back from it.
  void ask_for_ways_back(WayBack way_back) { way_back_ = std::move(way_back); }

  /// Takes a record of any kind; those that explain nothing are passed over.
  void record(const Record& record) { join_.record(record); }
  /// As those of StackJoin: stalls may be waiting for their user stacks.
  void advance(std::uint64_t now_ns) { join_.advance(now_ns); }
  void finish() { join_.finish(); }

  /// Stalls that lack waits, because there was no room to keep them.
  std::uint64_t waits_forgotten() const { return stalls_without_; }

 private:
  struct Thread {
    std::string comm;  ///< when it last waited
    std::deque<RawWait> waits;
    std::uint64_t forgotten_until_ns = 0;  ///< when the last one ended that was dropped
    std::vector<RawSums> wakes;            ///< the last long waits of others that it ended
    std::optional<RawWaker> waker;         ///< of the wait that has not ended yet
    std::uint64_t woken_ns = 0;
    std::unique_ptr<const sched_throttle> throttle;  ///< of the wait whose record comes next
    std::vector<sched_runs> runs;                    ///< likewise
    std::unique_ptr<const wait_places> places;       ///< of the late call whose span comes next
    std::optional<signal_handler> handler;           ///< likewise
    std::uint64_t late_call_ns = 0;                  ///< when its last call began that was late
    std::vector<std::byte> call;                     ///< its last late system call
    const Schema* call_schema = nullptr;
  };

  Thread& thread_of(std::uint32_t tid);
  void take(const Record& record, const Record* stack);
  void wait(const Record& record, const Record* stack);
  void wake(const Record& record);
  void throttle(const Record& record);
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
  /// What the thread of `link.waker` did meanwhile, and its wait, if that is why we waited.
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
  std::deque<stop_signal> stops_;    ///< the last ones, of all processes
  std::deque<std::uint32_t> order_;  ///< whose waits came, oldest first
  std::uint64_t last_id_ = 0;
  std::uint64_t stalls_without_ = 0;
};

}  // namespace overdue
