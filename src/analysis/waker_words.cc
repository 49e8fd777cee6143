#include "analysis/waker_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace overdue {
namespace {

constexpr std::uint16_t net_rx = 3;  // include/linux/interrupt.h

/// The function's name without a compiler's suffix: "bio_endio" of "bio_endio.part.0".
std::string_view function_of(const StackFrame& frame) {
  const std::string_view name = frame.name;
  return name.substr(0, name.find('.'));
}

bool calls(const Stack& stack, std::string_view function) {
  return std::ranges::find(stack, function, function_of) != stack.end();
}

/// Whether a packet is handed on in this function.
bool sends(std::string_view function) {
  return function == "__dev_queue_xmit" || function == "__dev_direct_xmit" ||
         function == "ip_finish_output2" || function == "ip6_finish_output2";
}

using Meaning = std::pair<std::string_view, std::string_view>;  // function, meaning

std::string_view meaning_in(std::span<const Meaning> meanings, const Stack& stack) {
  for (const StackFrame& frame : stack)
    for (const auto& [function, meaning] : meanings)
      if (function_of(frame) == function) return meaning;
  return "";
}

}  // namespace

// The backlog queue of a CPU, for packets that are not from a device, is emptied in the sender's
// call, as soon as the call enables softirqs (net/core/dev.c), or by an interrupt that comes first.
bool ran_in_own_call(const RawWaker& waker, const Stack& stack) {
  if (waker.context != WAKER_SOFTIRQ || waker.number != net_rx) return false;
  bool is_backlog = false;
  for (auto frame = stack.begin(); frame != stack.end(); ++frame) {
    const std::string_view function = function_of(*frame);
    is_backlog |= function == "process_backlog";
    if (function == "__local_bh_enable_ip") {
      // A call that sends nothing enables softirqs too, and then runs those of others.
      const auto caller = std::next(frame);
      return is_backlog && (caller == stack.end() || sends(function_of(*caller)));
    }
    if (function.find("irq_exit") != std::string_view::npos || function == "run_ksoftirqd")
      return false;
  }
  return false;
}

// The innermost match counts: an interrupt may have interrupted another one.
std::string_view interrupt_meaning(const Stack& stack) {
  constexpr std::array<Meaning, 6> meanings = {{{"hrtimer_wakeup", "timeout"},
                                                {"process_timeout", "timeout"},
                                                {"bio_endio", disk_completion},
                                                {"blk_update_request", disk_completion},
                                                {"blk_mq_end_request", disk_completion},
                                                {"blk_mq_end_request_batch", disk_completion}}};
  return meaning_in(meanings, stack);
}

bool is_interrupt_thread(const Stack& stack) {
  return calls(stack, "irq_thread");
}

bool is_interrupted(const Stack& stack, const Stack& waker) {
  constexpr std::array<std::string_view, 5> for_signals = {
      "do_sigtimedwait", "sigsuspend", "__do_sys_pause", "do_wait", "signalfd_dequeue"};
  const auto is_for_signals = [&](std::string_view function) { return calls(stack, function); };
  return (calls(waker, "complete_signal") || calls(waker, "signal_wake_up_state")) &&
         std::ranges::none_of(for_signals, is_for_signals);
}

std::string signal_text(std::uint32_t number) {
  constexpr std::uint32_t first_real_time = 34, last = 64;  // as C libraries count them
  const char* name = number <= last ? sigabbrev_np(static_cast<int>(number)) : nullptr;
  if (name) return fmt::format("SIG{}", name);
  if (number < first_real_time || number > last) return fmt::format("signal {}", number);
  return number == first_real_time ? "SIGRTMIN"
                                   : fmt::format("SIGRTMIN+{}", number - first_real_time);
}

std::string_view stop_meaning(const Stack& stack, const Stack& waker) {
  constexpr std::array<Meaning, 7> meanings = {{{"do_signal_stop", stopped_by_signal},
                                                {"do_jobctl_trap", stopped_by_tracer},
                                                {"ptrace_stop", stopped_by_tracer},
                                                {"ptrace_notify", stopped_by_tracer},
                                                {"do_freezer_trap", "frozen"},
                                                {"__refrigerator", "frozen"},
                                                {"__freezing", "frozen"}}};
  const std::string_view meaning = meaning_in(meanings, stack);
  if (!meaning.empty()) return meaning;
  // Some compilers make do_freezer_trap() a part of get_signal() (Debian's Linux 6.1).
  return calls(stack, "get_signal") && calls(waker, "cgroup_freeze_task") ? "frozen" : "";
}

// The names differ between kernels. In Linux 7.2, do_syscall_64() itself contains the way to a
// tracer. A wait before the begin of a call never comes here: see note_ended_call().
bool is_way_back(const Stack& stack) {
  constexpr std::array<std::string_view, 4> ways = {"exit_to_user_mode", "syscall_exit_",
                                                    "arch_do_signal_or_restart", "ptrace_notify"};
  bool is_behind = false;
  for (const StackFrame& frame : stack) {
    for (const std::string_view way : ways) is_behind |= frame.name.starts_with(way);
    if (function_of(frame) == "do_syscall_64") return is_behind;
  }
  return false;
}

}  // namespace overdue
