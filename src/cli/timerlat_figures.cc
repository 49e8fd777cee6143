#include "cli/timerlat_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "symbols/kernel_symbols.h"

namespace overdue {

void TimerFigures::add(std::uint64_t ns, const TimerlatPlan& plan) {
  current_ns = ns;
  latencies.add(ns);
  if (!plan.histogram) return;
  counts.resize(plan.buckets + 1);
  ++counts[std::min<std::uint64_t>(ns / plan.bucket_ns, plan.buckets)];
}

std::uint64_t latency_in(const timerlat_activation& activation, TimerContext context) {
  const auto since_expiry = [&](std::uint64_t ns) {
    return ns > activation.expires_ns ? ns - activation.expires_ns : 0;
  };
  switch (context) {
    case TimerContext::irq:
      return since_expiry(activation.irq_ns);
    case TimerContext::thread:
      return activation.flags & ACTIVATION_UNSEEN ? 0 : since_expiry(activation.header.time_ns);
    case TimerContext::user:
      return since_expiry(activation.user_ns);
  }
  return 0;
}

std::vector<std::string> notes_of_missed(const std::vector<std::uint32_t>& cpus,
                                         const std::vector<std::uint64_t>& missed) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (missed[i] > 0)
      notes.push_back(
          fmt::format("CPU {}: {} period{} passed while the thread was still late from one before",
                      cpus[i], missed[i], missed[i] == 1 ? "" : "s"));
  return notes;
}

struct KernelStacks::Symbols {
  KernelSymbols table;
};

KernelStacks::KernelStacks() = default;
KernelStacks::~KernelStacks() = default;

Stack KernelStacks::named(const std::vector<std::uint64_t>& addresses) {
  if (!symbols_ && !addresses.empty()) {
    symbols_ = std::make_unique<Symbols>();
    try {
      symbols_->table = KernelSymbols::read();
    } catch (const Error&) {
      symbols_->table = {};  // frames stay addresses
    }
  }
  Stack stack;
  for (const std::uint64_t address : addresses) {
    StackFrame frame{.address = address, .offset = address, .is_kernel = true};
    if (const auto found = symbols_->table.find(address)) {
      frame.name = printable(found->symbol.name);
      frame.module = found->module.empty() ? std::string("[kernel]")
                                           : fmt::format("[{}]", printable(found->module));
      frame.offset = found->symbol.offset;
    }
    stack.push_back(std::move(frame));
  }
  drop_tracing(stack);
  return stack;
}

TimerStop explain_stop(const Record& record, const TimerlatPlan& plan, KernelStacks& stacks,
                       const TimerlatSource& source) {
  TimerStop stop;
  const auto activation = record.as<timerlat_activation>();
  stop.limit_ns = plan.stop_total_ns;
  if (activation.flags & ACTIVATION_IN_IRQ) {
    stop.context = TimerContext::irq;
    stop.limit_ns = plan.stop_irq_ns;
  } else if (latency_in(activation, TimerContext::thread) < plan.stop_total_ns) {
    stop.context = TimerContext::user;
  }
  const bool to_user = activation.user_ns > 0 &&
                       (stop.context == TimerContext::user || activation.flags & ACTIVATION_UNSEEN);
  stop.cause = take_apart(record, to_user ? LatencyEnd::user : LatencyEnd::thread,
                          find_machine_stop(activation, source.silences()));
  stop.stack = stacks.named(stop.cause.addresses);
  std::vector<std::string> functions;
  for (const StackFrame& frame : stop.stack) functions.push_back(frame.name);
  stop.verdict = judge(stop.cause, functions,
                       source.priority_of_thread(activation.header.tid).value_or(plan.priority));
  return stop;
}

}  // namespace overdue
