#include "core/finding.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace overdue {
namespace {

/// The functions of the scheduler in which every wait ends.
bool is_of_scheduler(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {
      "__schedule", "schedule", "io_schedule", "__cond_resched", "context_switch", "__switch_to"};
  return std::find(names.begin(), names.end(), name) != names.end() ||
         name.starts_with("schedule_") || name.starts_with("io_schedule_") ||
         name.starts_with("preempt_schedule");
}

/// The functions between the user's instruction and the function of the system call.
bool is_of_entry(std::string_view name) {
  constexpr std::array<std::string_view, 8> prefixes = {
      "entry_SYSCALL", "do_syscall_", "x64_sys_call", "__x64_sys_",
      "__do_sys_",     "__se_sys_",   "asm_",         "ret_from_fork"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

/// The functions by which a tracepoint calls a BPF program.
bool is_of_tracing(std::string_view name) {
  constexpr std::array<std::string_view, 3> prefixes = {"__traceiter_", "bpf_trace_run",
                                                        "bpf_prog_"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

void drop_scheduler(Stack& kernel_stack) {
  kernel_stack.erase(
      kernel_stack.begin(),
      std::find_if_not(kernel_stack.begin(), kernel_stack.end(), [](const auto& frame) {
        return is_of_tracing(frame.name) || is_of_scheduler(frame.name);
      }));
}

std::vector<std::string> telling_functions(const Stack& kernel_stack) {
  std::vector<std::string> functions;
  for (auto frame = kernel_stack.rbegin(); frame != kernel_stack.rend(); ++frame) {
    const std::string name = to_text(*frame);
    const std::string function = frame->name.empty() ? name : name.substr(0, name.find('.'));
    if (!is_of_entry(function) && !is_of_scheduler(function) && !is_of_tracing(function))
      functions.push_back(function);
  }
  return functions;
}

void CpuShares::add(const CpuShare& share) {
  if (share.ns == 0) return;
  auto at = std::find_if(threads.begin(), threads.end(), [&](const CpuShare& other) {
    return other.thread.tid == share.thread.tid;
  });
  if (at == threads.end()) at = threads.insert(at, {share.thread, 0, {}});
  at->ns += share.ns;
  if (at->on_cpu.samples < share.on_cpu.samples) at->on_cpu = share.on_cpu;
  std::sort(threads.begin(), threads.end(), [](const CpuShare& one, const CpuShare& other) {
    return one.ns != other.ns ? one.ns > other.ns : one.thread.tid < other.thread.tid;
  });
}

void CpuShares::add(const CpuShares& more) {
  for (const CpuShare& share : more.threads) add(share);
  others_ns += more.others_ns;
}

void count_frames(const Finding& finding, FrameCounts& counts) {
  const auto count = [](const Stack& stack, std::uint64_t& frames, std::uint64_t& unresolved) {
    frames += stack.size();
    for (const StackFrame& frame : stack) unresolved += frame.name.empty();
  };
  const auto kernel = [&](const Stack& stack) {
    count(stack, counts.kernel, counts.kernel_unresolved);
  };
  if (finding.user_stack) count(*finding.user_stack, counts.user, counts.user_unresolved);
  kernel(finding.kernel_stack);
  for (const Wait& wait : finding.waits) {
    kernel(wait.kernel_stack);
    if (wait.waker) kernel(wait.waker->stack);
  }
  for (const ChainLink& link : finding.chain) kernel(link.kernel_stack);
}

}  // namespace overdue
