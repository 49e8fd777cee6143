#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/time.h"

struct bpf_map;
struct bpf_object;

namespace overdue {

/// While it lives the kernel measures how long BPF programs run, everybody's.
class BpfStats {
 public:
  /// Null where the kernel does not let us (CAP_SYS_ADMIN).
  static std::unique_ptr<BpfStats> begin();

 private:
  explicit BpfStats(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

/// What the kernel has measured of an object's programs so far; `missed` it counts always.
struct BpfRuns {
  std::uint64_t runs = 0;
  std::uint64_t ns = 0;
  std::uint64_t missed = 0;  ///< since one came while the same program ran on that CPU already
};
BpfRuns bpf_runs(const bpf_object* object);

/// What a probe's programs cost: they count their runs themselves, and for a moment at the begin
/// the kernel measures how long one takes.
class RunCost {
 public:
  /// Of a loaded object, which it must not outlive. `runs`: its per-CPU array with one element, in
  /// which the runs of each CPU are the first u64.
  RunCost(const bpf_object* object, const bpf_map* runs);
  /// Or they are counted where `runs` looks.
  RunCost(const bpf_object* object, std::function<std::uint64_t()> runs)
      : object_(object), runs_(std::move(runs)) {}

  void begin(KernelTime now) {
    count();
    measure(now);
  }
  /// The two halves of begin(). The second waits for every CPU, 20 ms and more where a hypervisor
  /// has taken one.
  void count() { runs_before_ = runs(); }
  void measure(KernelTime now);
  void poll(KernelTime now);
  /// Runs since begin() was called, and what they took; none where nobody knows that. Throws Error.
  BpfRuns cost() const;
  /// All runs there ever were.
  std::uint64_t runs() const { return runs_(); }

 private:
  const bpf_object* object_;
  std::function<std::uint64_t()> runs_;
  std::uint64_t runs_before_ = 0;
  std::unique_ptr<BpfStats> stats_;  ///< while it is measured
  KernelTime until_{};
};

}  // namespace overdue
