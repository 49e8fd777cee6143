#pragma once

#include <optional>
#include <set>
#include <string>

#include "kernel/membership.h"
#include "probes/syscalls/probe.h"

namespace overdue {

/// A sentence for the report. `late_by`: how long a filter existed before the hook that sees
/// refused calls.
std::string refusals_missed(Duration late_by);

/// Changes from the first phase of `--two-phase` (both hooks that every call of the machine passes)
/// to the second (one of the hooks, and the exits of the discovered calls), and attaches the exits
/// of calls that are discovered later. No call is lost or counted twice on the way: while a call
/// has two exits, the first exit ends the call.
class TwoPhase {
 public:
  /// `only`: the calls of -e, if it was given.
  TwoPhase(SyscallsProbe& probe, Membership& membership, std::optional<SyscallSet> only,
           KernelTime switch_at)
      : probe_(probe), membership_(membership), only_(std::move(only)), switch_at_(switch_at) {}

  /// Called at due(): changes phases at `switch_at`, and then looks for late calls.
  void poll(KernelTime now);
  KernelTime due() const {
    if (!why_stayed_.empty()) return KernelTime::max();
    return switched_ ? KernelClock::now() + std::chrono::milliseconds(20) : switch_at_;
  }
  /// A note for the report: how many of how many tracepoints were attached, or why none.
  std::string note() const;

 private:
  void enter_second_phase();
  void leave_second_phase(KernelTime refusable_since);
  void stay(std::string why);
  void attach(u32 nr);
  void attach_discovered();
  void attach_if_possible(const SyscallSet& calls);

  SyscallsProbe& probe_;
  Membership& membership_;
  std::optional<SyscallSet> only_;
  KernelTime switch_at_;
  bool switched_ = false;
  std::string why_stayed_;  ///< why the first phase goes on for good; empty: no reason
  std::set<u32> attached_;
  std::set<u32> without_tracepoint_;  ///< late calls that can only be counted
};

}  // namespace overdue
