#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf/timerlat.h"

namespace overdue {

/// A line of the kernel's trace, "  cc1-87882   [005] d..h.   548.771078: TEXT", as views into it.
struct TraceLine {
  std::string_view comm;  ///< name of the thread, raw: any text
  std::uint32_t tid = 0;
  std::uint32_t cpu = 0;
  std::string_view flags;
  std::uint64_t time_ns = 0;  ///< trace's clock, in whole microseconds
  std::string_view text;
};

/// Parses a line of the trace. Nothing for other lines: a header, a stack, or a line broken by a
/// newline in a thread's name.
std::optional<TraceLine> parse_trace_line(std::string_view line);

/// Content of a trace line of the timerlat tracer or the osnoise events.
struct TimerlatEvent {
  enum class Kind { irq, thread, user, noise, stack, stop, mark };
  Kind kind = Kind::irq;
  std::uint64_t id = 0;          ///< number of the activation, or of one of Overdue's marks
  std::uint64_t latency_ns = 0;  ///< latency of irq, thread, user
  /// Noise from its start to its net end: nested noise is not in the duration.
  timerlat_noise noise{};
};

/// Parses the text of a trace line. Nothing for other events.
std::optional<TimerlatEvent> parse_timerlat_event(std::string_view text);

/// A line "CPU:1 [LOST 23 EVENTS]". `events` is 1 if the kernel does not know the number.
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

/// The kernel's preempt count, from a line's flag columns in any kernel's format.
std::uint32_t preempt_count_of(std::string_view flags);

/// Text of a mark that Overdue writes to `trace_marker`: "overdue-mark 7".
constexpr std::string_view mark_text = "overdue-mark ";

}  // namespace overdue
