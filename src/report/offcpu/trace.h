#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "bpf/offcpu.h"
#include "bpf/sched.h"
#include "report/offcpu/switch_line.h"
#include "source/listener.h"

namespace overdue {

/// Context switches of a trace in text, as the records of a session.
class SwitchAccount {
 public:
  void add(const SwitchEvent& event);
  /// No event comes before `time_ns`.
  void advance(std::uint64_t time_ns) { now_ns_ = std::max(now_ns_, time_ns); }
  /// Hands over the sums until now: a record for each thread, and for each pair of displacer and
  /// displaced thread since the last call.
  void report(const RecordHandler& handler);

  std::uint64_t switches() const { return switches_; }
  std::uint64_t lost() const { return lost_; }
  /// Waits that may have ended among lost events: they do not count.
  std::uint64_t cut() const { return cut_; }
  /// Waits without an end, since the trace lacks a switch: they do not count.
  std::uint64_t unmatched() const { return unmatched_; }
  std::uint64_t start_ns() const { return start_ns_; }
  std::uint64_t now_ns() const { return now_ns_; }

 private:
  struct Thread {
    offcpu_thread record{};
    std::uint64_t in_ns = 0;   ///< begin of its run; 0: it does not run
    std::uint64_t out_ns = 0;  ///< begin of its wait; 0: not known
    std::uint64_t wake_ns = 0;
    wait_state state = WAIT_UNKNOWN;
    std::uint32_t displacer_tid = 0;
    std::string displacer;
    std::map<std::pair<std::uint32_t, std::string>, offcpu_displacer> displacers;
  };
  struct Parts {
    std::uint64_t blocked_ns = 0, ready_ns = 0;
  };

  Thread& thread_of(std::uint32_t tid, std::uint32_t cpu, const std::string& comm);
  void leave(Thread& thread, const SwitchEvent& event);
  void end(Thread& thread, const SwitchEvent& event);
  void arrive(Thread& thread);
  Parts parts_of(const Thread& thread) const;
  void add_parts(offcpu_thread& record, const Thread& thread, const Parts& parts) const;
  void note_displacer(Thread& thread, std::uint64_t wait_ns);
  void forget_waits();
  void report(Thread& thread, const offcpu_thread& record, const RecordHandler& handler) const;

  /// By tid; idle threads by 2^32 and the CPU.
  std::map<std::uint64_t, Thread> threads_;
  std::vector<Thread> ended_;  ///< since the last report()
  std::uint32_t threads_seen_ = 0;
  std::uint64_t start_ns_ = 0, now_ns_ = 0;
  std::uint64_t switches_ = 0, lost_ = 0, cut_ = 0, unmatched_ = 0;
};

/// The settings of replay_switches().
struct SwitchReplay {
  std::string name;                   ///< of the file, for the report
  std::vector<std::uint32_t> cpus{};  ///< CPUs whose switches count; empty: all
  std::optional<Duration> interval{};
};

/// Reads the text of a trace, and gives `listener` what a session would. Times are those of the
/// trace's clock, as if since 1970. Throws Error if the text has no context switch.
void replay_switches(const Fd& text, const SwitchReplay& replay, MeasureListener& listener);

}  // namespace overdue
