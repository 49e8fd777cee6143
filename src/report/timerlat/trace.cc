#include "report/timerlat/trace.h"

#include <fmt/format.h>

#include "base/text.h"
#include "resolve/kernel_stacks.h"

namespace overdue {
namespace {

// include/linux/preempt.h
constexpr std::uint32_t preempt_mask = 0xff, serving_softirq = 0x100, hardirq_mask = 0xf0000,
                        nmi_mask = 0xf00000, no_need_to_reschedule = 0x80000000;
/// Preempt depth of the scheduler at a switch: its own, and that of the run queue's lock.
constexpr std::uint32_t depth_at_switch = 2;

std::string latency_line(const std::string& head, std::uint64_t id, std::string_view context,
                         std::uint64_t ns) {
  return fmt::format("{}#{:<5} context {:>6} timer_latency {:>9} ns\n", head, id, context, ns);
}

}  // namespace

std::string trace_flags(std::uint32_t preempt_count, std::uint32_t own_depth) {
  const bool hardirq = preempt_count & hardirq_mask, softirq = preempt_count & serving_softirq;
  const std::uint32_t depth = preempt_count & preempt_mask;
  const std::uint32_t shown = depth > own_depth ? depth - own_depth : 0;
  std::string flags = "d";
  flags += preempt_count & no_need_to_reschedule ? '.' : 'N';
  if (preempt_count & nmi_mask)
    flags += hardirq ? 'Z' : 'z';
  else
    flags += hardirq ? (softirq ? 'H' : 'h') : (softirq ? 's' : '.');
  flags += shown == 0 ? std::string(".") : fmt::format("{:x}", std::min(shown, 15u));
  return flags;
}

std::string TimerlatTrace::header() {
  return R"(# tracer: timerlat
#
#                              _-----=> irqs-off
#                             / _----=> need-resched
#                            | / _---=> hardirq/softirq
#                            || / _--=> preempt-depth
#                            || /
#                            ||||             ACTIVATION
#         TASK-PID      CPU# ||||   TIMESTAMP    ID            CONTEXT                LATENCY
#            | |         |   ||||      |         |                  |                       |
)";
}

void TimerlatTrace::add(const Record& record, StackNamer& stacks) {
  const auto activation = record.as<timerlat_activation>();
  const u32 cpu = activation.header.cpu;
  std::string irq_flags(unknown_flags), thread_flags(unknown_flags);
  if (!(activation.flags & ACTIVATION_NO_CONTEXT)) {
    const u32 at_switch = activation.thread_preempt_count & preempt_mask;
    const bool switched = !(activation.flags & ACTIVATION_UNSEEN) &&
                          activation.interrupted_tid != activation.header.tid;
    const bool in_thread = activation.flags & ACTIVATION_IN_THREAD;
    const u32 own =
        switched && !in_thread && at_switch > depth_at_switch ? at_switch - depth_at_switch : 0;
    irq_flags = trace_flags(activation.irq_preempt_count, own);
    if (switched || in_thread) thread_flags = trace_flags(activation.thread_preempt_count, own);
    if (in_thread) thread_flags[0] = '.';  // the thread's interrupts are on
  }
  lines_.add(
      activation.irq_ns,
      latency_line(trace_line_head(fixed_text(activation.interrupted), activation.interrupted_tid,
                                   cpu, irq_flags, activation.irq_ns),
                   activation.id, "irq", latency_in(activation, TimerContext::irq)));
  if (plan_.noise || activation.flags & ACTIVATION_STOPPED)
    lines_.add_noises(take_apart(record).noises, cpu, fixed_text(activation.interrupted),
                      activation.interrupted_tid);
  const auto own_head = [&](std::string_view flags, std::uint64_t at_ns) {
    return trace_line_head(fixed_text(activation.header.comm), activation.header.tid, cpu, flags,
                           at_ns);
  };
  const std::uint64_t ran_ns = activation.header.time_ns;
  if (!(activation.flags & ACTIVATION_UNSEEN))
    lines_.add(ran_ns, latency_line(own_head(thread_flags, ran_ns), activation.id, "thread",
                                    latency_in(activation, TimerContext::thread)));
  if (activation.kernel_frames > 0) {
    std::string text = own_head(unknown_flags, ran_ns) + "<stack trace>\n";
    for (const StackFrame& frame : untraced_stack(stacks, take_apart(record).addresses))
      text += fmt::format("=> {}\n", to_text(frame));
    lines_.add(ran_ns, std::move(text));
  }
  const bool tells_user = plan_.user || activation.flags & ACTIVATION_IN_THREAD;
  if (tells_user && activation.user_ns > 0)
    lines_.add(activation.user_ns,
               latency_line(own_head(unknown_flags, activation.user_ns), activation.id, "user-ret",
                            latency_in(activation, TimerContext::user)));
}

}  // namespace overdue
