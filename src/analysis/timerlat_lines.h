#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf/timerlat.h"

namespace overdue {

/// A line of the kernel's trace: "  cc1-87882   [005] d..h.   548.771078: TEXT". Views into it.
struct TraceLine {
  std::string_view comm;  ///< raw, and whatever its thread has made of it
  std::uint32_t tid = 0;
  std::uint32_t cpu = 0;
  std::string_view flags;
  std::uint64_t time_ns = 0;  ///< of the trace's clock, in whole microseconds
  std::string_view text;
};

/// Nothing where it is none: header, stack, a line that a thread's name with a newline in it broke.
std::optional<TraceLine> parse_trace_line(std::string_view line);

/// What the timerlat tracer and the osnoise events say in such a line.
struct TimerlatEvent {
  enum class Kind { irq, thread, user, noise, stack, stop, mark };
  Kind kind = Kind::irq;
  std::uint64_t id = 0;          ///< of the activation, or of a mark of ours
  std::uint64_t latency_ns = 0;  ///< of irq, thread, user
  /// Of noise: from its start; its end as if nothing had interrupted it.
  timerlat_noise noise{};
};

/// Nothing for any other event.
std::optional<TimerlatEvent> parse_timerlat_event(std::string_view text);

/// What a line "CPU:1 [LOST 23 EVENTS]" says; the kernel may not know how many: then 1.
struct LostEvents {
  std::uint32_t cpu = 0;
  std::uint64_t events = 0;
};
std::optional<LostEvents> parse_lost_events(std::string_view line);

/// A frame of a stack, printed with `sym-addr`: "=> timerlat_irq <ffffffff811d8b10>".
struct StackLine {
  std::string_view function;
  std::uint64_t address = 0;
};
std::optional<StackLine> parse_stack_line(std::string_view line);

/// The kernel's preempt count that a line's flag columns stand for, of any of their versions.
std::uint32_t preempt_count_of(std::string_view flags);

/// The text of a mark of ours, which is written to `trace_marker`: "overdue-mark 7".
constexpr std::string_view mark_text = "overdue-mark ";

}  // namespace overdue
