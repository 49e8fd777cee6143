#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bpf/timerlat.h"

namespace overdue {

/// A share of a latency, or of the noise of a CPU: all noise of one kind and name, without nested
/// noise.
struct NoiseShare {
  u32 kind = NOISE_HARDWARE;  ///< enum noise_kind
  u32 number = 0;             ///< number of the interrupt, or tid; 0: an unreported thread
  std::string name{};         ///< as noise_name(): of the interrupt or the thread (raw), or empty
  std::uint64_t count = 0;    ///< number of noises; not counted for a latency
  std::uint64_t ns = 0;
  std::uint64_t max_ns = 0;         ///< longest of `count`
  std::uint64_t before_irq_ns = 0;  ///< part of `ns` before the timer's interrupt
  std::uint64_t threads = 0;        ///< number of threads that are added up; 0: one source alone
  /// A thread's highest priority, in the kernel's numbers: see timerlat_noise.
  s32 priority = std::numeric_limits<s32>::max();
};

/// The shares of one latency, or of the noise of one CPU.
class NoiseShares {
 public:
  /// The share of that kind and name, which is made if need be.
  NoiseShare& of(u32 kind, u32 number, const std::string& name);
  /// Counts one noise.
  void count(u32 kind, u32 number, const std::string& name, std::uint64_t ns);
  void merge(const NoiseShares& other);
  std::vector<NoiseShare> longest_first() const;
  std::uint64_t total_ns() const;

 private:
  std::map<std::tuple<u32, u32, std::string>, NoiseShare> shares_;
};

}  // namespace overdue
