#pragma once

#include <string>

#include "report/timerlat/figures.h"
#include "report/trace_lines.h"

namespace overdue {

/// Lines in the format of the kernel's timerlat tracer, and of osnoise's events, in time order
/// across CPUs: two for each activation, a third for the way back to the program with `--user`,
/// stacks if the records have them. The flag columns of the two lines are the kernel's own at that
/// moment; the flags of interferences are unknown, and are dots.
class TimerlatTrace {
 public:
  explicit TimerlatTrace(const TimerlatPlan& plan) : plan_(plan) {}

  /// The tracer's header.
  static std::string header();
  void add(const Record& activation, StackNamer& stacks);
  /// The lines of events before `until_ns`, each line once.
  std::string take(std::uint64_t until_ns) { return lines_.take(until_ns); }

 private:
  const TimerlatPlan& plan_;
  TraceLines lines_;
};

/// The four flag columns: irqs-off, need-resched, hardirq/softirq, preempt-depth, of a kernel's
/// preempt count with interrupts disabled. `own_depth`: the part of the depth that BPF causes.
std::string trace_flags(std::uint32_t preempt_count, std::uint32_t own_depth);

}  // namespace overdue
