#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bpf/own_timer.h"
#include "bpf/sched.h"
#include "cli/timerlat_figures.h"
#include "core/finding.h"
#include "core/histogram.h"
#include "core/record.h"

namespace overdue {

/// A share of how late a thread was back in its program.
struct LatenessPart {
  std::string_view
      kind;  ///< "slack", "irq", "handler", "run queue", "throttled", "return"; as docs have them
  std::string who;        ///< raw name of the thread that had the CPU; or empty
  std::uint32_t tid = 0;  ///< of that
  std::uint64_t ns = 0;
  std::uint64_t ran_ns = 0;  ///< of ns: for how long that thread ran, or, with tid 0, the CPU idled
};

/// One wake-up by a timer, taken apart: its parts add up to its latency, to the nanosecond.
struct LateTimer {
  own_timer timer{};
  std::string name;              ///< what waited, as in OwnTimerRow
  std::uint64_t latency_ns = 0;  ///< from what was asked for to the way back to the program
  std::vector<LatenessPart> parts;
  std::optional<Throttle> throttle;      ///< whose limit kept the thread
  std::vector<std::uint64_t> addresses;  ///< where the CPU was at the interrupt, innermost first
};
LateTimer take_apart_timer(const Record& record);

/// How late a thread was from what its timer was set for, in a context.
std::uint64_t latency_in(const own_timer& timer, TimerContext context);

/// The timers of one kind that one thread waits for.
struct OwnTimerRow {
  std::uint32_t pid = 0, tid = 0;
  std::string comm;                    ///< raw
  std::string timer;                   ///< what waited: "clock_nanosleep", "epoll_wait (timerfd)"
  std::array<Histogram, 3> latencies;  ///< by TimerContext
  LateTimer latest;
  std::uint64_t max_ns() const { return latest.latency_ns; }
};

/// Wake-ups by timers, by thread and kind.
class OwnTimersTable {
 public:
  /// `kernel` names the functions of timers.
  explicit OwnTimersTable(KernelStacks& kernel) : kernel_(kernel) {}

  /// Whose quota the timer was late by that comes next.
  void add_throttle(const Record& record) { throttle_ = record.as<sched_throttle>(); }
  /// Returns it, taken apart.
  LateTimer add(const Record& record, const Names& names);
  /// The latest first.
  std::vector<const OwnTimerRow*> rows() const;

 private:
  std::string timer_name(const own_timer& timer, const Names& names);

  /// Thread, function, call.
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>;
  KernelStacks& kernel_;
  std::optional<sched_throttle> throttle_;
  std::map<Key, OwnTimerRow> rows_;
};

}  // namespace overdue
