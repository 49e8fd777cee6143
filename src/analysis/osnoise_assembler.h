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

/// Makes noise and period records, as the osnoise probe writes them, from the text that the
/// kernel's osnoise tracer and its events print into `trace_pipe`. Bounded for any input: keeps as
/// many interferences of a CPU as a record has room for, and only the CPUs asked for.
///
/// The kernel prints net durations of interferences. The assembler adds nested interferences, which
/// the kernel prints earlier, to get gross ends. The kernel prints the noise of a period in whole
/// microseconds; if every noise of the period was read, their sum gives it in nanoseconds.
/// Interferences that the kernel counts but prints no line for are counted as unmatched. The
/// tracer's own work between the end of a noise and its line is part of the next noise, as in the
/// kernel.
class OsnoiseAssembler final : public TracerAssembler {
 public:
  struct Options {
    std::vector<std::uint32_t> cpus{};
    /// Limits in microseconds for a single noise and for the noise of a period. A longer time stops
    /// the tracer; 0: no limit.
    std::uint64_t stop_single_us = 0, stop_total_us = 0;
    bool skip_first = false;  ///< leaves out the first period of each CPU
  };

  /// `pause` is the schema of osnoise_gap, `period` that of osnoise_sample. The schemas have to
  /// outlive the assembler, which keeps `handler`.
  OsnoiseAssembler(const Schema& pause, const Schema& period, const Options& options,
                   RecordHandler handler);

  void finish() override {}

 private:
  /// An interference; times are of the trace's clock.
  struct Noise {
    timerlat_noise gross{};
    std::uint64_t net_ns = 0;
  };
  struct Cpu {
    std::deque<Noise> noises;  ///< interferences since the last noise, in the order of their ends
    bool skipping = false;
    std::uint64_t sum_ns = 0, max_ns = 0;  ///< sum and maximum of the present period's noises
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
