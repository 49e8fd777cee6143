#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/machine_stop.h"
#include "analysis/timer_cause.h"
#include "analysis/timer_diagnosis.h"
#include "core/even_histogram.h"
#include "core/histogram.h"
#include "core/session_info.h"
#include "core/stack_namer.h"
#include "source/kept_options.h"

namespace overdue {

/// The point at which a latency ends; figures are in this order.
enum class TimerContext { irq, thread, user };
constexpr std::array<TimerContext, 3> timer_contexts{TimerContext::irq, TimerContext::thread,
                                                     TimerContext::user};
constexpr std::size_t index_of(TimerContext context) {
  return static_cast<std::size_t>(context);
}
/// The name of a context in JSON.
constexpr std::string_view key_of(TimerContext context) {
  return std::array<std::string_view, 3>{"irq", "thread", "user"}[index_of(context)];
}

/// The settings of `overdue timerlat` that its reports need.
struct TimerlatPlan {
  std::vector<std::uint32_t> cpus{};
  std::uint64_t period_ns = 1'000'000;
  int priority = 95;
  std::uint64_t stop_irq_ns = 0;  ///< limit for the IRQ latency; 0: no limit
  std::uint64_t stop_total_ns = 0;
  std::uint64_t stack_over_ns = 0;
  bool user = false;        ///< true: the way back to the program counts too
  bool of_program = false;  ///< true: threads of a program, not Overdue's or the kernel's
  bool trace = false;       ///< true: prints a line for each interrupt and thread
  bool noise = false;       ///< true: prints a line for each interference too
  bool histogram = false;
  std::uint64_t bucket_ns = 1000;
  std::size_t buckets = 256;
};

/// Throws Error (exit status 2) for a period or priority that the threads cannot have.
void check(const TimerlatPlan& plan);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const TimerlatPlan& plan);
TimerlatPlan kept_timerlat_plan(const SessionInfo& info);

/// Latencies of one CPU in one context.
struct TimerFigures {
  std::uint64_t current_ns = 0;
  Histogram latencies;
  std::optional<EvenHistogram> counts;  ///< with --hist

  void add(std::uint64_t ns);
};

struct TimerCpu {
  TimerCpu() = default;
  TimerCpu(std::uint32_t number, const TimerlatPlan& plan);

  std::uint32_t cpu = 0;
  std::uint64_t count = 0;
  timerlat_cpu at_end{};  ///< the record of the CPU at the end
  std::array<TimerFigures, 3> figures;
  const TimerFigures& of(TimerContext context) const { return figures[index_of(context)]; }
};

/// The latency of an activation in a context; 0 if it was not seen.
std::uint64_t latency_in(const timerlat_activation& activation, TimerContext context);

/// An activation over a limit, explained.
struct TimerStop {
  TimerCause cause;
  TimerDiagnosis diagnosis;
  TimerContext context = TimerContext::thread;  ///< context of the limit
  std::uint64_t limit_ns = 0;
  Stack stack;  ///< kernel stack of the interrupt, innermost first
};

/// "CPU 0: 3 periods passed …", for each CPU that missed periods.
std::vector<std::string> notes_of_missed(const std::vector<std::uint32_t>& cpus,
                                         const std::vector<std::uint64_t>& missed);

/// Why a CPU has no activation: the end of a sentence.
std::string why_none(const timerlat_cpu& at_end);

/// Explains an activation with ACTIVATION_STOPPED, from the records of all CPUs at the end.
TimerStop explain_stop(const Record& record, const TimerlatPlan& plan, StackNamer& stacks,
                       const std::vector<TimerCpu>& cpus);

/// The record of one CPU at the end, with `cpu`, `missed` and `absence`.
timerlat_cpu cpu_at_end(std::uint32_t cpu, std::uint64_t missed, timerlat_absence absence);

}  // namespace overdue
