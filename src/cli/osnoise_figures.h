#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/timer_cause.h"
#include "bpf/osnoise.h"
#include "core/record.h"

namespace overdue {

/// What `overdue osnoise` was asked for, as its reports need it.
struct OsnoisePlan {
  std::vector<std::uint32_t> cpus{};
  std::uint64_t period_ns = 1'000'000'000;
  std::uint64_t runtime_ns = 900'000'000;
  std::uint64_t threshold_ns = 1000;
  int priority = 0;                  ///< of SCHED_FIFO; 0: ordinary threads
  std::uint64_t stop_single_ns = 0;  ///< 0: never
  std::uint64_t stop_total_ns = 0;
  bool counts_softirqs = true;  ///< false: who measures is not told of any
  bool trace = false;
  bool histogram = false;
  std::uint64_t bucket_ns = 1000;
  std::size_t buckets = 256;
};

/// Not of enum noise_kind: nothing that the kernel tells of.
constexpr u32 hardware_noise = 0;
/// "hardware", or as noise_kind_name().
std::string_view noise_part_kind(u32 kind);

/// A share of the noise: everything of one kind and name, net of what interrupted it.
struct NoisePart {
  u32 kind = hardware_noise;
  u32 number = 0;      ///< of the interrupt, or tid; 0 of a thread that nobody was told of
  std::string name{};  ///< as noise_name(); empty where there is none
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  std::uint64_t max_ns = 0;
};

/// Where pauses came from, and how long they were.
class NoiseTally {
 public:
  void add(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan);
  void merge(const NoiseTally& other);
  /// The longest first.
  std::vector<NoisePart> parts() const;
  std::uint64_t parts_ns() const;
  /// Of --hist: by bucket; the last is what is longer. May be shorter.
  std::uint64_t count_in(std::size_t bucket) const {
    return bucket < counts_.size() ? counts_[bucket] : 0;
  }

 private:
  void add_part(u32 kind, u32 number, const std::string& name, std::uint64_t ns);

  std::map<std::tuple<u32, u32, std::string>, NoisePart> parts_;
  std::vector<std::uint64_t> counts_;
};

/// All periods of a CPU that have ended.
struct OsnoiseCpu {
  std::uint32_t cpu = 0;
  std::uint64_t samples = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t noise_ns = 0;
  std::uint64_t max_noise_ns = 0;   ///< of one period
  std::uint64_t max_single_ns = 0;  ///< of one pause
  std::uint64_t hw = 0, nmi = 0, irq = 0, softirq = 0, thread = 0;
  NoiseTally tally{};
  NoiseTally open{};  ///< of the period under way

  void add(const osnoise_sample& sample);
  /// In 100 000ths of a percent, rounded down, as the kernel has it.
  std::uint64_t available() const;
  /// What is in no part: the ways into the kernel and out of it, switches, and records that were
  /// lost.
  std::uint64_t residual_ns() const;
};

/// "99.97722".
std::string available_text(std::uint64_t available);

/// What ended the run.
struct OsnoiseStop {
  std::uint32_t cpu = 0;
  std::uint64_t time_ns = 0;
  bool single = true;  ///< one pause; else the noise of a period
  std::uint64_t limit_ns = 0;
  std::uint64_t noise_ns = 0;
  std::vector<NoisePart> parts{};  ///< of the pause, or of the period; the longest first
  std::uint64_t residual_ns = 0;
  bool complete = true;  ///< false: there was more than was kept
};

}  // namespace overdue
