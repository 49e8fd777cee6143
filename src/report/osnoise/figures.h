#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
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
inline constexpr std::array<std::string_view, 5> osnoise_words{"thread", "name", "pattern",
                                                               "cgroup", "parent"};

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
  bool origins = false;         ///< records say what started the threads that make noise
  bool trace = false;
  bool histogram = false;
  std::uint64_t bucket_ns = 1000;
  std::size_t buckets = 256;
};

/// Throws Error (exit status 2) for a period, runtime, threshold or priority that the threads
/// cannot have.
void check(const OsnoisePlan& plan);

/// Chooses by one of osnoise_words; throws Error (exit status 2) for any other word.
void choose_rows(OsnoisePlan& plan, std::string_view word);
/// Whether these rows need the origins of threads.
constexpr bool needs_origins(Whose by) {
  return by == Whose::cgroup || by == Whose::parent;
}
/// Throws Error if the rows of the plan of a recording need origins that the recording lacks.
void check_origins(const OsnoisePlan& plan);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const OsnoisePlan& plan);
OsnoisePlan kept_osnoise_plan(const SessionInfo& info);

/// The schema of an osnoise_sample without `inner_ns` and `outer_ns`: the kernel's own tracer does
/// not distinguish the time within a pair of clock reads from the time between pairs.
const Schema& osnoise_sample_of_tracer();

/// The origins of the threads in the record of an osnoise_gap, by tid. Of a truncated record, as
/// many as the record has.
using NoiseOrigins = std::map<std::uint32_t, noise_origin>;
NoiseOrigins origins_of(const Record& gap);

/// A part of the noise, as a row shows it.
struct NoisePart : Share {
  std::optional<Owner> owner{};  ///< of threads that are added up by cgroup or parent
  std::uint64_t processes = 0;   ///< likewise
};

/// The sources and the lengths of noise.
class NoiseTally {
 public:
  /// `origins`: needed with a plan whose rows are by cgroup or parent.
  void add(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan,
           const NoiseOrigins& origins = {});
  void merge(const NoiseTally& other);
  /// The parts, longest first. `by`: as in the plan; `names`: of cgroups.
  std::vector<NoisePart> parts(Whose by, const Names& names = {}) const;
  std::uint64_t parts_ns() const;
  /// The lengths of the noises, for --hist.
  const EvenHistogram& histogram() const { return histogram_; }
  /// Processes by the owners of parts.
  const ProcessCounts& processes() const { return processes_; }

 private:
  void add_thread(const CauseNoise& noise, const NoiseOrigins& origins, Whose by);

  Breakdown shares_;
  std::map<Owner, Share> owners_;  ///< time of threads by cgroup or parent
  ProcessCounts processes_;
  EvenHistogram histogram_;  ///< has the buckets of the plan from the first noise on
};

/// The parts, with those of threads added up by name or pattern; longest first.
std::vector<Share> parts_by(std::vector<Share> parts, Whose by);

/// Finds the paths of the cgroups.
void resolve_cgroups(std::vector<NoisePart>& parts, const Names& names);

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
  std::vector<NoisePart> parts{};  ///< parts of the noise, longest first
  std::uint64_t residual_ns = 0;
  bool complete = true;  ///< false: the record lacks the oldest interferences
};

}  // namespace overdue
