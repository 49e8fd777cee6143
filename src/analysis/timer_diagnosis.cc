#include "analysis/timer_diagnosis.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"

namespace overdue {
namespace {

std::string duration(std::uint64_t ns) {
  return format_duration(Duration(ns));
}

/// Shares of a latency by their causes.
struct Shares {
  std::vector<Share> parts;            ///< longest first; the pointers point to these
  std::uint64_t irqs_off_ns = 0;       ///< time of threads before the interrupt
  const Share* irqs_off_by = nullptr;  ///< thread with the largest part of irqs_off_ns
  std::uint64_t preempted_off_ns = 0;  ///< the interrupted, lower-priority thread ran on
  std::uint64_t idle_ns = 0;           ///< residual of an idle CPU before the interrupt
  std::uint64_t residual_ns = 0;       ///< the other residual
  const Share* largest = nullptr;      ///< largest interference
  std::uint64_t largest_ns = 0;
};

bool is_interrupted(const TimerCause& cause, const Share& part) {
  return part.kind == ShareKind::thread && part.number == cause.activation.interrupted_tid;
}

Shares shares_of(const TimerCause& cause, int priority) {
  Shares shares;
  shares.parts = cause.parts.longest_first();
  for (const Share& part : shares.parts) {
    std::uint64_t interfering_ns = part.ns;
    // A thread can delay an interrupt only by disabling interrupts.
    if (part.kind == ShareKind::thread) {
      shares.irqs_off_ns += part.before_irq_ns;
      if (!shares.irqs_off_by || part.before_irq_ns > shares.irqs_off_by->before_irq_ns)
        shares.irqs_off_by = &part;
      interfering_ns -= part.before_irq_ns;
    }
    // The woken thread does not preempt a thread of the same or a higher priority.
    if (is_interrupted(cause, part) && part.priority > 99 - priority) {
      shares.preempted_off_ns = interfering_ns;
      continue;
    }
    if (shares.largest && interfering_ns <= shares.largest_ns) continue;
    shares.largest = &part;
    shares.largest_ns = interfering_ns;
  }
  const bool was_idle = cause.activation.interrupted_tid == 0;
  shares.idle_ns = was_idle ? cause.unexplained_before_irq_ns : 0;
  shares.residual_ns = cause.parts.unexplained_ns - shares.idle_ns;
  return shares;
}

std::string thread_text(const timerlat_activation& activation) {
  return fmt::format("{} (tid {})", printable(fixed_text(activation.interrupted)),
                     activation.interrupted_tid);
}

/// ", in f, called from g"; empty if f is unknown.
std::string place_text(const std::vector<std::string>& functions) {
  const std::size_t at = interrupted_frame(functions);
  if (at >= functions.size() || functions[at].empty()) return {};
  std::string text = fmt::format(", in {}", printable(functions[at]));
  if (at + 1 < functions.size() && !functions[at + 1].empty())
    text += fmt::format(", called from {}", printable(functions[at + 1]));
  return text;
}

std::string part_text(const Share& part) {
  const std::string name = printable(part.name);
  if (part.kind == ShareKind::thread) return fmt::format("thread {} (tid {})", name, part.number);
  if (part.kind == ShareKind::nmi) return "non-maskable interrupts";
  return fmt::format("{} {} ({})", noise_kind_name(part.kind), name, part.number);
}

/// Whether the time that a hypervisor reports as stolen explains at least half of `ns`.
bool was_stolen(const TimerCause& cause, std::uint64_t ns) {
  return ns > 0 && cause.activation.steal_ns >= ns / 2;
}

TimerDiagnosis irqs_were_off(const TimerCause& cause, const Shares& shares,
                             const std::vector<std::string>& functions) {
  const timerlat_activation& activation = cause.activation;
  if (shares.irqs_off_by && !is_interrupted(cause, *shares.irqs_off_by) &&
      !was_stolen(cause, shares.irqs_off_ns))
    return {DelayCause::irqs_off, shares.irqs_off_ns, shares.irqs_off_by->name,
            fmt::format("interrupts were off for {} while {} ran, which had left the CPU when the "
                        "interrupt came; or hardware or a hypervisor had the CPU",
                        duration(shares.irqs_off_ns), part_text(*shares.irqs_off_by))};
  TimerDiagnosis diagnosis{DelayCause::irqs_off, shares.irqs_off_ns,
                           std::string(fixed_text(activation.interrupted))};
  if (was_stolen(cause, diagnosis.ns) || activation.flags & ACTIVATION_USER_MODE) {
    diagnosis.cause = DelayCause::hardware;
    diagnosis.who.clear();
    diagnosis.text = fmt::format(
        "the interrupt came {} late to {}, {}", duration(diagnosis.ns), thread_text(activation),
        was_stolen(cause, diagnosis.ns)
            ? fmt::format("of which a hypervisor says it took {}", duration(activation.steal_ns))
            : "which ran its own code and cannot hold it up: hardware, firmware or a hypervisor "
              "did");
    return diagnosis;
  }
  diagnosis.text = fmt::format("interrupts were off for {} while {} ran{}", duration(diagnosis.ns),
                               thread_text(activation), place_text(functions));
  // A pending interrupt comes as soon as a function enables interrupts.
  const std::size_t at = interrupted_frame(functions);
  if (at < functions.size() && functions[at].find("irq") == std::string::npos)
    diagnosis.text +=
        "; or, as this function is none that is known to turn them on, hardware or a "
        "hypervisor had the CPU";
  return diagnosis;
}

TimerDiagnosis preemption_was_off(const TimerCause& cause, const Shares& shares,
                                  const std::vector<std::string>& functions) {
  TimerDiagnosis diagnosis{DelayCause::preemption_off, shares.preempted_off_ns,
                           std::string(fixed_text(cause.activation.interrupted))};
  diagnosis.text =
      fmt::format("preemption was off: {} ran on for {} after the interrupt{}",
                  thread_text(cause.activation), duration(diagnosis.ns), place_text(functions));
  return diagnosis;
}

TimerDiagnosis cpu_was_idle(const TimerCause& cause, const Shares& shares) {
  const bool stolen = was_stolen(cause, shares.idle_ns);
  TimerDiagnosis diagnosis{stolen ? DelayCause::hardware : DelayCause::idle_exit, shares.idle_ns};
  diagnosis.text =
      stolen ? fmt::format("the idle CPU's interrupt came {} late; a hypervisor says it took {}",
                           duration(diagnosis.ns), duration(cause.activation.steal_ns))
             : fmt::format(
                   "exit from idle: the CPU slept, and its interrupt came {} late (deep sleep, or "
                   "a hypervisor that had to wake it)",
                   duration(diagnosis.ns));
  return diagnosis;
}

TimerDiagnosis unexplained(const TimerCause& cause, const Shares& shares) {
  TimerDiagnosis diagnosis{DelayCause::wakeup, shares.residual_ns};
  const bool stolen = was_stolen(cause, diagnosis.ns);
  // No kernel takes longer than this to wake a thread and to switch to it.
  constexpr std::uint64_t longest_switch_ns = 100'000;
  if (stolen || diagnosis.ns > longest_switch_ns) diagnosis.cause = DelayCause::hardware;
  if (stolen)
    diagnosis.text =
        fmt::format("a hypervisor says it took {} of the CPU", duration(cause.activation.steal_ns));
  else if (diagnosis.cause == DelayCause::hardware)
    diagnosis.text = fmt::format(
        "nothing that the kernel reports had the CPU for {}: hardware, firmware or a hypervisor, "
        "or "
        "code that ran with interrupts off",
        duration(diagnosis.ns));
  else
    diagnosis.text =
        fmt::format("waking the thread and switching to it took {}", duration(diagnosis.ns));
  return diagnosis;
}

}  // namespace

std::string_view delay_cause_name(DelayCause cause) {
  static constexpr std::array<std::string_view, 7> names{
      "irqs_off", "preemption_off", "interference", "idle_exit", "hardware", "wakeup", "own_work"};
  return names[static_cast<std::size_t>(cause)];
}

std::size_t interrupted_frame(const std::vector<std::string>& functions) {
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (functions[i].starts_with("asm_sysvec_") || functions[i].starts_with("asm_common_interrupt"))
      return i + 1;
  return functions.size();
}

TimerDiagnosis diagnose(const TimerCause& cause, const std::vector<std::string>& functions,
                        int priority) {
  const Shares shares = shares_of(cause, priority);
  const std::uint64_t most = std::max({shares.irqs_off_ns, shares.preempted_off_ns, shares.idle_ns,
                                       shares.residual_ns, shares.largest_ns});
  if (shares.largest && most == shares.largest_ns) {
    TimerDiagnosis diagnosis{DelayCause::interference, most, shares.largest->name};
    if (shares.largest->kind == ShareKind::hardware) {
      diagnosis.cause = DelayCause::hardware;
      diagnosis.text = fmt::format(
          "all CPUs that are measured were stopped at once, for {}: hardware, firmware or a "
          "hypervisor did that",
          duration(most));
      return diagnosis;
    }
    if (shares.largest->kind == ShareKind::thread &&
        shares.largest->number == cause.activation.header.tid) {
      diagnosis.cause = DelayCause::own_work;
      diagnosis.text =
          fmt::format("own work: {} itself ran for {}", part_text(*shares.largest), duration(most));
      return diagnosis;
    }
    diagnosis.text = fmt::format("interference: {} had the CPU for {}", part_text(*shares.largest),
                                 duration(most));
    return diagnosis;
  }
  if (most == shares.irqs_off_ns) return irqs_were_off(cause, shares, functions);
  if (most == shares.preempted_off_ns) return preemption_was_off(cause, shares, functions);
  if (most == shares.idle_ns) return cpu_was_idle(cause, shares);
  return unexplained(cause, shares);
}

}  // namespace overdue
