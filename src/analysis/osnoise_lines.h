#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf/osnoise.h"

namespace overdue {

/// Content of a line of the kernel's osnoise tracer or its events: see parse_trace_line().
struct OsnoiseEvent {
  /// `noise` is an interference, `pause` a noise.
  enum class Kind { noise, pause, period, stop, mark };
  /// Times in whole microseconds, rounded down, and counts.
  struct Period {
    std::uint64_t runtime_us = 0, noise_us = 0, max_us = 0;
    std::uint32_t hw = 0, nmi = 0, irq = 0, softirq = 0, thread = 0;
  };
  Kind kind = Kind::noise;
  std::uint64_t id = 0;  ///< number of one of Overdue's marks
  /// Interference from its start to its net end: nested interferences are not in the duration.
  timerlat_noise noise{};
  std::uint64_t begin_ns = 0, pause_ns = 0;  ///< begin of a noise, on the trace's clock; its length
  std::uint32_t interferences = 0;
  Period period{};
};

/// Parses the text of a trace line. Nothing for other events.
std::optional<OsnoiseEvent> parse_osnoise_event(std::string_view text);

}  // namespace overdue
