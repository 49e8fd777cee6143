#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf/osnoise.h"

namespace overdue {

/// What the kernel's osnoise tracer and its events say in a line: see parse_trace_line().
struct OsnoiseEvent {
  enum class Kind { noise, pause, period, stop, mark };
  /// In whole microseconds, rounded down, but for the counts.
  struct Period {
    std::uint64_t runtime_us = 0, noise_us = 0, max_us = 0;
    std::uint32_t hw = 0, nmi = 0, irq = 0, softirq = 0, thread = 0;
  };
  Kind kind = Kind::noise;
  std::uint64_t id = 0;  ///< of a mark of ours
  /// Of noise: from its start; its end as if nothing had interrupted it.
  timerlat_noise noise{};
  std::uint64_t begin_ns = 0, pause_ns = 0;  ///< of a pause, on the trace's clock
  std::uint32_t interferences = 0;
  Period period{};
};

/// Nothing for any other event.
std::optional<OsnoiseEvent> parse_osnoise_event(std::string_view text);

}  // namespace overdue
