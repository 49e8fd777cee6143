#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/osnoise_lines.h"
#include "analysis/timerlat_lines.h"
#include "analysis/tracer_assembler.h"
#include "core/record.h"

namespace overdue {

/// Makes pauses and periods, as the osnoise probe records them, of what the kernel's osnoise tracer
/// and its events print into `trace_pipe`. Bounded, whatever it is given: as many noises of a CPU
/// as a record has, and only the CPUs asked for.
///
/// Durations of noise are net; gross ends are made of them, as all that was taken off is an event
/// before. A period's noise is told in whole microseconds; where all its pauses have come, as they
/// say it, to the nanosecond. What interfered by the kernel's count, and no line told of, is
/// counted as unmatched. What comes between the end of a pause and its line, which is the tracer's
/// own work, the kernel takes for a part of the next one.
class OsnoiseAssembler final : public TracerAssembler {
 public:
  struct Options {
    std::vector<std::uint32_t> cpus{};
    /// What is longer than that stops the tracer; 0: nothing does.
    std::uint64_t stop_single_us = 0, stop_total_us = 0;
    bool skip_first = false;  ///< the first period of each CPU is none of ours
  };

  /// The schemas are those of osnoise_gap and osnoise_sample; they and `handler` are kept.
  OsnoiseAssembler(const Schema& pause, const Schema& period, const Options& options,
                   RecordHandler handler);

  void finish() override {}

 private:
  /// With times of the trace's clock.
  struct Noise {
    timerlat_noise gross{};
    std::uint64_t net_ns = 0;
  };
  struct Cpu {
    std::deque<Noise> noises;  ///< since the last pause, in the order of their ends
    bool skipping = false;
    std::uint64_t sum_ns = 0, max_ns = 0;  ///< of the pauses of the period under way
  };

  void line(std::string_view text) override;
  void add_noise(Cpu& cpu, const TraceLine& line, const timerlat_noise& noise);
  void end_pause(Cpu& cpu, const TraceLine& line, const OsnoiseEvent& event);
  void end_period(Cpu& cpu, const TraceLine& line, const OsnoiseEvent::Period& period);
  event_header header(const TraceLine& line, std::uint16_t kind, std::size_t size,
                      std::uint64_t time_ns) const;

  const Schema& pause_;
  const Schema& period_;
  Options options_;
  RecordHandler handler_;
  std::map<std::uint32_t, Cpu> cpus_;
};

}  // namespace overdue
