#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/late_watch.h"
#include "kernel/membership.h"
#include "probes/syscalls/probe.h"
#include "target/selection.h"

namespace overdue {

/// The change from the first phase of `--two-phase` (the hooks every call of the machine passes) to
/// the second (only the discovered calls' own tracepoints), and the care for calls that turn up
/// later. No call is lost or counted twice on the way: while both kinds of hook are attached,
/// whichever sees a call first has it.
class TwoPhase {
 public:
  using LateHandler = std::function<void(u32 nr, const event_header& who)>;

  TwoPhase(SyscallsProbe& probe, Membership& membership, const TargetSelection& selection,
           std::optional<SyscallSet> only, KernelTime switch_at)
      : probe_(probe),
        membership_(membership),
        kind_(selection.kind),
        only_(std::move(only)),
        switch_at_(switch_at) {}

  /// To be called every few milliseconds: switches when it is time, then looks for late calls.
  void poll(KernelTime now, const LateHandler& handler);
  /// Before the probe is detached for good: counts the late calls seen until now.
  void finish(const LateHandler& handler);

  /// When poll() has something to do next.
  KernelTime due() const {
    return switched_ ? KernelClock::now() + std::chrono::milliseconds(20) : switch_at_;
  }
  bool switched() const { return switched_; }
  /// What happened, for the report: how many tracepoints were attached of how many, or why none
  /// were.
  std::vector<std::string> notes() const;
  /// Late calls the kernel had to drop before we read them.
  std::uint64_t late_lost() const { return late_lost_; }

 private:
  void enter_second_phase();
  void stay(std::string why);
  std::optional<std::string> obstacle(const SyscallSet& discovered) const;
  void attach_all(const SyscallSet& calls);
  void attach(u32 nr, KernelTime from);
  std::unique_ptr<LateWatch> make_watch() const;
  std::set<u32> read_watch(KernelTime until, const LateHandler& handler);
  void attach_fresh(const std::set<u32>& fresh);
  void renew_watch(const LateHandler& handler);
  void look_for_late(const LateHandler& handler);

  SyscallsProbe& probe_;
  Membership& membership_;
  TargetKind kind_;
  std::optional<SyscallSet> only_;
  KernelTime switch_at_;
  bool switched_ = false;
  bool stayed_ = false;
  std::string why_stayed_;
  KernelTime watched_from_{};  ///< samples of watch_ count from here on
  KernelTime renew_at_{};      ///< when watch_ is to be replaced; the epoch: not
  std::unique_ptr<LateWatch> watch_;
  std::set<u32> attached_;
  std::map<u32, KernelTime> counted_from_;
  std::set<u32> without_tracepoint_;
  std::uint64_t late_calls_ = 0;
  std::uint64_t late_lost_ = 0;
};

}  // namespace overdue
