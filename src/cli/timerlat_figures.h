#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/machine_stop.h"
#include "analysis/timer_cause.h"
#include "analysis/timer_verdict.h"
#include "core/histogram.h"
#include "core/stack.h"

namespace overdue {

/// Where a latency ends; figures stand in this order.
enum class TimerContext { irq, thread, user };
constexpr std::array<TimerContext, 3> timer_contexts{TimerContext::irq, TimerContext::thread,
                                                     TimerContext::user};
constexpr std::size_t index_of(TimerContext context) {
  return static_cast<std::size_t>(context);
}
/// As JSON names it.
constexpr std::string_view key_of(TimerContext context) {
  return std::array<std::string_view, 3>{"irq", "thread", "user"}[index_of(context)];
}

/// What `overdue timerlat` was asked for, as its reports need it.
struct TimerlatPlan {
  std::vector<std::uint32_t> cpus{};
  std::uint64_t period_ns = 1'000'000;
  int priority = 95;
  std::uint64_t stop_irq_ns = 0;  ///< 0: never
  std::uint64_t stop_total_ns = 0;
  std::uint64_t stack_over_ns = 0;
  bool user = false;        ///< the way back to the program counts too
  bool of_program = false;  ///< the threads are a program's own, not ours or the kernel's
  bool trace = false;       ///< a line for each interrupt and thread …
  bool noise = false;       ///< … and for what had the CPU meanwhile
  bool histogram = false;
  std::uint64_t bucket_ns = 1000;
  std::size_t buckets = 256;
};

/// Latencies of one CPU in one context.
struct TimerFigures {
  std::uint64_t current_ns = 0;
  Histogram latencies;
  std::vector<std::uint64_t> counts;  ///< of --hist: by bucket; the last is what is longer

  void add(std::uint64_t ns, const TimerlatPlan& plan);
};

struct TimerCpu {
  std::uint32_t cpu = 0;
  std::uint64_t count = 0;
  std::uint64_t missed = 0;  ///< periods without an activation; known at the end
  std::array<TimerFigures, 3> figures;
  const TimerFigures& of(TimerContext context) const { return figures[index_of(context)]; }
};

/// How late an activation was, in a context; 0 where nobody saw that.
std::uint64_t latency_in(const timerlat_activation& activation, TimerContext context);

/// An activation over a limit, explained.
struct TimerStop {
  TimerCause cause;
  TimerVerdict verdict;
  TimerContext context = TimerContext::thread;  ///< whose limit it was
  std::uint64_t limit_ns = 0;
  Stack stack;  ///< where the CPU was at the interrupt, innermost first
};

/// What measures, for what its records do not tell. Used by the measuring thread.
class TimerlatSource {
 public:
  virtual ~TimerlatSource() = default;
  /// An activation was over a limit, but its thread has not come back to be told of for a second.
  virtual bool is_stuck() const = 0;
  /// It has ended by itself, because no CPU had time for ordinary threads.
  virtual bool starved() const = 0;
  /// Periods that passed while a thread was late from one before, by CPU of the plan; at the end.
  virtual std::vector<std::uint64_t> missed() const = 0;
  /// What is known of a CPU of which no activation was seen: the end of a sentence; at the end.
  virtual std::string why_none(std::uint32_t cpu) const = 0;
  /// The latest that lasted longer than a CPU's own timer lets them; at the end.
  virtual std::vector<CpuSilences> silences() const { return {}; }
  /// Of a thread that is a program's own, as SCHED_FIFO counts, and less than 1 of ordinary ones.
  virtual std::optional<int> priority_of_thread(std::uint32_t) const { return std::nullopt; }
};

/// "CPU 0: 3 periods passed …", of those that missed some.
std::vector<std::string> notes_of_missed(const std::vector<std::uint32_t>& cpus,
                                         const std::vector<std::uint64_t>& missed);

/// Names kernel addresses, from one reading of the kernel's symbols when it is first asked.
class KernelStacks {
 public:
  KernelStacks();
  ~KernelStacks();
  Stack named(const std::vector<std::uint64_t>& addresses);

 private:
  struct Symbols;
  std::unique_ptr<Symbols> symbols_;
};

/// Explains an activation that has ACTIVATION_STOPPED, as far as `source` knows more of it.
TimerStop explain_stop(const Record& record, const TimerlatPlan& plan, KernelStacks& stacks,
                       const TimerlatSource& source);

}  // namespace overdue
