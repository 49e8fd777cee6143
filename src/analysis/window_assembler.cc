#include "analysis/window_assembler.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace overdue {
namespace {

// include/linux/preempt.h, arch/x86/include/asm/preempt.h
constexpr std::uint32_t preempt_mask = 0xff;
constexpr std::uint32_t softirq_bit = 1u << 8;
constexpr std::uint32_t hardirq_mask = 0xfu << 16;
constexpr std::uint32_t nmi_mask = 0xfu << 20;
constexpr std::uint32_t resched_folded = 1u << 31;  // inverted: 0 if a reschedule is due

constexpr unsigned depth_at_switch = 2;  // preemption disabled, and the run queue's lock

bool is_folded(const worst_event& event) {
  return (event.flags & WORST_EVENT_HAS_COUNT) && !(event.preempt_count & resched_folded);
}

bool has_interrupts_off(std::uint16_t kind) {
  return kind != WORST_EVENT_SOFTIRQ_ENTRY && kind != WORST_EVENT_SOFTIRQ_EXIT;
}

/// Preemption depth that tracing itself adds. The depth differs between kernels, but the depth
/// without tracing is known at a context switch.
unsigned own_depth(const std::vector<worst_event>& events) {
  const auto at = std::find_if(events.begin(), events.end(), [](const worst_event& event) {
    return event.event == WORST_EVENT_SWITCH && (event.flags & WORST_EVENT_HAS_COUNT);
  });
  if (at == events.end()) return 0;
  const unsigned depth = at->preempt_count & preempt_mask;
  return depth > depth_at_switch ? std::min(depth - depth_at_switch, 3u) : 0;
}

std::int32_t signed_prio(std::uint32_t prio) {
  return prio == WORST_PRIO_DEADLINE ? -1 : static_cast<std::int32_t>(prio);
}

std::string_view what_bounds(std::uint16_t bound) {
  switch (bound) {
    case WORST_BOUND_EXACT:
      return "";
    case WORST_BOUND_LATE_TIMER:
      return "a timer's interrupt came that late (interrupts off, or a hypervisor's doing)";
    case WORST_BOUND_LATE_SWITCH:
      return "the CPU was to switch and could not (preemption or interrupts off)";
    case WORST_BOUND_LATE_BOTH:
      return "a timer's interrupt came late, and since it the CPU was to switch and could not "
             "(interrupts off, or a hypervisor's doing; then preemption)";
    default:
      return "by a rule that this version does not know";
  }
}

WindowEvent to_window_event(const worst_event& event, unsigned depth,
                            const Preemption& preemption) {
  WindowEvent result;
  result.time_ns = event.header.time_ns;
  result.cpu = event.header.cpu;
  result.thread = {event.header.pid, event.header.tid, std::string(fixed_text(event.header.comm))};
  result.prio = signed_prio(event.prio);
  result.kind = static_cast<worst_event_kind>(event.event);
  result.flags = window_flags(event, depth, preemption);
  result.other_prio = signed_prio(event.other_prio);
  result.number = event.number;
  result.state = event.state;
  if (event.event == WORST_EVENT_IRQ_ENTRY)
    result.name = fixed_text(event.other_comm);
  else
    result.other = {0, event.other_tid, std::string(fixed_text(event.other_comm))};
  return result;
}

/// The same letters as in trace_print_lat_fmt() (kernel/trace/trace_output.c).
char resched_flag(const worst_event& event, const Preemption& preemption) {
  const unsigned bits = event.thread_flags >> preemption.resched_bit;
  const bool is_due = bits & 1, is_due_lazily = preemption.has_lazy && (bits & 2);
  return ".pnNlLbB"[4 * is_due_lazily + 2 * is_due + is_folded(event)];
}

}  // namespace

std::string window_flags(const worst_event& event, unsigned own_depth,
                         const Preemption& preemption) {
  std::string flags = "d..X";
  if (!has_interrupts_off(event.event)) flags[0] = '.';
  flags[1] = resched_flag(event, preemption);
  if (!(event.flags & WORST_EVENT_HAS_COUNT)) {
    flags[2] = 'X';
    return flags;
  }
  const std::uint32_t count = event.preempt_count;
  const bool nmi = count & nmi_mask, hard = count & hardirq_mask, soft = count & softirq_bit;
  flags[2] = nmi ? hard ? 'Z' : 'z' : hard ? soft ? 'H' : 'h' : soft ? 's' : '.';
  const unsigned depth = count & preempt_mask;
  const unsigned shown = depth > own_depth ? std::min(depth - own_depth, 15u) : 0;
  flags[3] = shown ? "0123456789abcdef"[shown] : '.';
  return flags;
}

void WindowAssembler::record(const Record& record) {
  if (record.schema->id == RECORD_WORST_WINDOW) return window(record);
  if (record.schema->id != RECORD_WORST_EVENT || !open_) return;
  events_.push_back(record.as<worst_event>());
  if (events_.size() >= expected_) deliver();
}

void WindowAssembler::window(const Record& record) {
  finish();
  const auto window = record.as<worst_window>();
  LatencyWindow& made = open_.emplace();
  made.tracer = tracer_name(window.tracer);
  made.number = ++number_;
  made.time = KernelTime(std::chrono::nanoseconds(window.header.time_ns));
  made.begin_ns = window.begin_ns;
  made.latency_ns = window.latency_ns;
  if (window.queued_ns > window.begin_ns) made.queued_ns = window.queued_ns - window.begin_ns;
  made.thread = {window.header.pid, window.header.tid, std::string(fixed_text(window.header.comm))};
  made.cpu = window.header.cpu;
  made.queued_cpu = window.queued_ns ? window.queued_cpu : window.header.cpu;
  made.uid = window.uid;
  made.nice = static_cast<std::int32_t>(window.static_prio) - 120;
  made.policy = window.policy;
  made.rt_priority = window.rt_priority;
  made.prio = signed_prio(window.prio);
  made.waker = {window.waker_pid, window.waker_tid, std::string(fixed_text(window.waker_comm))};
  made.waker_cpu = window.waker_cpu;
  made.lost_events = window.lost_events;
  made.lower_bound = what_bounds(window.bound);
  made.preemption = preemption_.model;
  const std::size_t frames =
      record.bytes.size() > sizeof window ? (record.bytes.size() - sizeof window) / 8 : 0;
  std::vector<std::uint64_t> addresses(frames);
  if (frames) std::memcpy(addresses.data(), record.bytes.data() + sizeof window, 8 * frames);
  const std::size_t waking = std::min<std::size_t>(window.waking_frames, frames);
  const std::size_t end = std::min<std::size_t>(window.end_frames, frames - waking);
  const std::span<const std::uint64_t> all(addresses);
  made.waking_stack = namer_.kernel_stack(all.subspan(0, waking));
  made.end_stack = namer_.kernel_stack(all.subspan(waking, end));
  drop_tracing(made.waking_stack);
  drop_tracing(made.end_stack);
  expected_ = window.events;
  if (expected_ == 0) deliver();
}

void WindowAssembler::deliver() {
  if (!open_) return;
  const unsigned depth = own_depth(events_);
  for (const worst_event& event : events_)
    open_->events.push_back(to_window_event(event, depth, preemption_));
  events_.clear();
  LatencyWindow done = std::move(*open_);
  open_.reset();
  handler_(std::move(done));
}

void WindowAssembler::finish() {
  if (open_) deliver();
}

}  // namespace overdue
