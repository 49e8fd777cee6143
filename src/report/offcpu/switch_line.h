#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace overdue {

/// A context switch or a wake-up, as a line of text has it.
struct SwitchEvent {
  enum class Kind { switched, woken, lost };

  Kind kind = Kind::switched;
  std::uint64_t time_ns = 0;
  std::uint32_t cpu = 0;
  std::uint32_t prev_tid = 0;   ///< of a switch: the thread that leaves the CPU; 0: the idle thread
  std::string prev_comm = {};   ///< empty: not known
  std::string prev_state = {};  ///< "R" and "R+": runnable; "S", "D", …
  std::uint32_t tid = 0;        ///< thread that gets the CPU, or is woken
  std::string comm = {};
  std::uint64_t count = 0;  ///< of lost events
};

/// Reads a line of ftrace's text (with names of fields, as of Linux 2.6.30, or with numbers alone,
/// as before), of `trace-cmd report` or of `perf script`. Empty for a line of another event, for
/// comments, and for lines that cannot be read. Hostile input.
std::optional<SwitchEvent> parse_switch_line(std::string_view line);

}  // namespace overdue
