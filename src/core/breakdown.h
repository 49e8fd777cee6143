#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace overdue {

/// What took a share of a duration. A thread's time, the latency of a timer and the noise of a CPU
/// have shares of different kinds. The kinds of an app timer's wake-up are in order of time.
enum class ShareKind : std::uint8_t {
  slack,      ///< time by which the kernel may be late
  irq_delay,  ///< until the timer's interrupt came
  handler,    ///< in that interrupt, until it woke the thread
  runqueue,   ///< woken, waiting for a CPU
  preempted,
  throttled,  ///< by a CPU quota or the real-time limit
  way_back,   ///< from the switch to the thread to the end of its system call
  oncpu,
  sleeping,
  uninterruptible,
  nmi,
  irq,
  softirq,
  thread,
  hardware,
  other,  ///< noise of a kind that this version does not know
};

/// All time of one kind, and of one source where the kind has several.
struct Share {
  ShareKind kind{};
  std::uint64_t ns = 0;
  std::uint32_t number = 0;  ///< number of the interrupt, or tid; 0: an unreported thread, or none
  std::string name{};        ///< raw name of the interrupt or the thread, or empty
  std::uint64_t count = 0;   ///< number of noises; not counted for a latency
  std::uint64_t max_ns = 0;  ///< longest of `count`
  std::uint64_t before_irq_ns = 0;  ///< part of `ns` before the timer's interrupt
  std::uint64_t ran_ns = 0;  ///< part of `ns` in which the thread ran; without a tid, the CPU idled
  std::uint64_t threads = 0;  ///< number of threads that are added up; 0: one source alone
  /// A thread's highest priority, in the kernel's numbers: see timerlat_noise.
  std::int32_t priority = std::numeric_limits<std::int32_t>::max();
};

/// Longest first; equal ones by kind, number and name.
void sort_longest_first(std::vector<Share>& shares);

/// Where a duration went. The shares and `unexplained_ns` add up to the duration.
class Breakdown {
 public:
  Breakdown() = default;
  /// At most one share of a kind.
  Breakdown(std::initializer_list<Share> shares, std::uint64_t unexplained = 0);

  /// The share of that kind and source, which is made if need be. Valid until the next call.
  Share& of(ShareKind kind, std::uint32_t number = 0, const std::string& name = {});
  /// Counts one noise.
  void count(ShareKind kind, std::uint32_t number, const std::string& name, std::uint64_t ns);
  void merge(const Breakdown& other);

  /// All time of a kind.
  std::uint64_t ns(ShareKind kind) const;
  /// Off the CPU, and not runnable.
  std::uint64_t blocked_ns() const {
    return ns(ShareKind::sleeping) + ns(ShareKind::uninterruptible);
  }
  /// On the CPU, or runnable.
  std::uint64_t active_ns() const { return explained_ns() - blocked_ns(); }
  std::uint64_t explained_ns() const;
  std::uint64_t total_ns() const { return explained_ns() + unexplained_ns; }

  /// By kind, number and name.
  const std::vector<Share>& shares() const { return shares_; }
  std::vector<Share> longest_first() const;

  std::uint64_t unexplained_ns = 0;

 private:
  std::vector<Share> shares_;
};

}  // namespace overdue
