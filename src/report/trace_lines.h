#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timer_cause.h"

namespace overdue {

/// Lines in the format of the kernel's tracers, each ending in a newline.

/// Flag columns of unknown flags.
constexpr std::string_view unknown_flags = "....";

/// "          cc1-87882   [005] d.h.   548.771077: ", with the raw name of the thread.
std::string trace_line_head(std::string_view comm, std::uint32_t tid, std::uint32_t cpu,
                            std::string_view flags, std::uint64_t time_ns);

/// "irq_noise: local_timer:236 start 548.771077442 duration 7597 ns", as osnoise's events.
std::string noise_text(const CauseNoise& noise);

/// Lines that are printed in the order of their time.
class TraceLines {
 public:
  void add(std::uint64_t time_ns, std::string line) { lines_.emplace(time_ns, std::move(line)); }
  /// Adds a line for each interference, at its end. The interrupted thread in the line is the
  /// thread in `noises` that had the CPU then, else the one of `comm` and `tid`.
  void add_noises(const std::vector<CauseNoise>& noises, std::uint32_t cpu, std::string_view comm,
                  std::uint32_t tid);
  /// The lines of events before `until_ns`, each line once.
  std::string take(std::uint64_t until_ns);

 private:
  std::multimap<std::uint64_t, std::string> lines_;
};

}  // namespace overdue
