#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bpf/app_timer.h"
#include "bpf/sched.h"
#include "core/breakdown.h"
#include "core/finding.h"
#include "core/histogram.h"
#include "core/record.h"
#include "core/stack.h"
#include "core/stack_namer.h"
#include "report/timerlat/figures.h"

namespace overdue {

/// One wake-up by a timer, decomposed to the nanosecond.
struct LateTimer {
  app_timer timer{};
  std::string name;                      ///< the call that waited, as in AppTimerRow
  std::uint64_t latency_ns = 0;          ///< from the requested time to the way back to the program
  Breakdown parts;                       ///< in order of time; the run queue has the thread before
  std::optional<Throttle> throttle;      ///< the limit that throttled the thread
  std::vector<std::uint64_t> addresses;  ///< kernel stack of the interrupt, innermost first
  Stack stack;                           ///< the same with names, in wake-ups that are shown
};
LateTimer take_apart_timer(const Record& record);

/// The latency from the expiry of the timer to a context.
std::uint64_t latency_in(const app_timer& timer, TimerContext context);

/// The timers of one kind that one thread waits for.
struct AppTimerRow {
  std::uint32_t pid = 0, tid = 0;
  std::string comm;   ///< raw name of the thread
  std::string timer;  ///< call that waits: "clock_nanosleep", "epoll_wait (timerfd)"
  std::array<Histogram, 3> latencies;  ///< by TimerContext
  LateTimer latest;
};

/// Wake-ups by timers, by thread and kind.
class AppTimersTable {
 public:
  /// `stacks` names the kernel functions of timers, and must outlive the table.
  explicit AppTimersTable(StackNamer& stacks) : stacks_(stacks) {}

  /// Keeps the limit that throttled the thread of the next wake-up.
  void add_throttle(const Record& record) { throttle_ = record.as<sched_throttle>(); }
  /// Adds a wake-up, and returns it decomposed.
  LateTimer add(const Record& record, const Names& names);
  /// Names the stack of a wake-up that will be shown.
  void name_stack(LateTimer& late);
  /// Copies of the rows, latest first.
  std::vector<AppTimerRow> rows() const;

 private:
  std::string timer_name(const app_timer& timer, const Names& names);

  /// Tid, kernel function, call, and whether the call is a 32-bit one.
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>;
  StackNamer& stacks_;
  std::optional<sched_throttle> throttle_;
  std::map<Key, AppTimerRow> rows_;
};

}  // namespace overdue
