#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timer_cause.h"
#include "bpf/osnoise.h"
#include "core/even_histogram.h"
#include "core/record.h"
#include "core/session_info.h"
#include "core/whose.h"
#include "source/kept_options.h"

namespace overdue {

/// The words of --by.
inline constexpr std::array<std::string_view, 3> osnoise_words{"thread", "name", "pattern"};

/// The settings of `overdue osnoise` that its reports need.
struct OsnoisePlan {
  std::vector<std::uint32_t> cpus{};
  std::uint64_t period_ns = 1'000'000'000;
  std::uint64_t runtime_ns = 900'000'000;
  std::uint64_t threshold_ns = 1000;
  int priority = 0;                  ///< SCHED_FIFO priority; 0: ordinary threads
  std::uint64_t stop_single_ns = 0;  ///< limit for a single noise; 0: no limit
  std::uint64_t stop_total_ns = 0;
  bool counts_softirqs = true;  ///< false: the tracer sees no softirqs
  Whose by = Whose::thread;     ///< parts of threads
  bool trace = false;
  bool histogram = false;
  std::uint64_t bucket_ns = 1000;
  std::size_t buckets = 256;
};

/// Chooses by one of osnoise_words; throws Error (exit status 2) for any other word.
void choose_rows(OsnoisePlan& plan, std::string_view word);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const OsnoisePlan& plan);
OsnoisePlan kept_osnoise_plan(const SessionInfo& info);

/// The schema of an osnoise_sample without `inner_ns` and `outer_ns`: the kernel's own tracer does
/// not distinguish the time within a pair of clock reads from the time between pairs.
const Schema& osnoise_sample_of_tracer();

/// The sources and the lengths of noise.
class NoiseTally {
 public:
  void add(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan);
  void merge(const NoiseTally& other);
  /// The parts, longest first.
  std::vector<NoiseShare> parts() const { return shares_.longest_first(); }
  std::uint64_t parts_ns() const { return shares_.total_ns(); }
  /// The lengths of the noises, for --hist.
  const EvenHistogram& histogram() const { return histogram_; }

 private:
  NoiseShares shares_;
  EvenHistogram histogram_;  ///< has the buckets of the plan from the first noise on
};

/// The parts, with those of threads added up by name or pattern; longest first.
std::vector<NoiseShare> parts_by(std::vector<NoiseShare> parts, Whose by);

/// The figures of all periods of a CPU that have ended.
struct OsnoiseCpu {
  std::uint32_t cpu = 0;
  std::uint64_t samples = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t noise_ns = 0;
  std::uint64_t max_noise_ns = 0;   ///< largest noise of a period
  std::uint64_t max_single_ns = 0;  ///< longest single noise
  std::uint64_t hw = 0, nmi = 0, irq = 0, softirq = 0, thread = 0;
  NoiseTally tally{};
  NoiseTally open{};  ///< noise of the present period

  void add(const osnoise_sample& sample);
  /// Runtime without noise, in 100 000ths of a percent, rounded down as in the kernel.
  std::uint64_t available() const;
  /// Noise that is in no part: kernel entries and exits, context switches, lost records.
  std::uint64_t residual_ns() const;
};

/// "99.97722".
std::string available_text(std::uint64_t available);

/// The noise that ended the run.
struct OsnoiseStop {
  std::uint32_t cpu = 0;
  std::uint64_t time_ns = 0;
  bool single = true;  ///< true: a single noise; false: the noise of a period
  std::uint64_t limit_ns = 0;
  std::uint64_t noise_ns = 0;
  std::vector<NoiseShare> parts{};  ///< parts of the noise, longest first
  std::uint64_t residual_ns = 0;
  bool complete = true;  ///< false: the record lacks the oldest interferences
};

}  // namespace overdue
