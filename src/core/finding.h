#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/session_info.h"
#include "core/stack.h"

namespace overdue {

/// The functions of a kernel stack that say what was waited for, outermost first: without the
/// entry into the kernel, the scheduler's own and what calls us, and without what compilers append
/// to names.
std::vector<std::string> telling_functions(const Stack& kernel_stack);
/// Drops the innermost frames that are how a thread leaves its CPU.
void drop_scheduler(Stack& kernel_stack);

struct ThreadName {
  std::uint32_t pid = 0;  ///< 0: not known
  std::uint32_t tid = 0;  ///< 0: the idle thread
  std::string comm;       ///< raw; empty where it is not known
};

/// Who, or what, ended a wait.
struct Waker {
  ThreadName thread{};       ///< nobody where it was an interrupt
  ThreadName interrupted{};  ///< whom that met, by chance
  std::string context{};  ///< "thread", "softirq NET_RX", "irq virtio1-req.0", "vector local_timer"
  std::string_view means{};  ///< of an interrupt: "timeout", "disk completion"; empty: not known
  std::string disk{};        ///< of a disk completion: "vda"; empty: not known
  bool is_thread = false;    ///< also where the interrupt ran in a call of that thread's own
  Stack stack{};
};

/// A cgroup whose CPU quota was used up.
struct Throttle {
  std::string cgroup{};         ///< path in the hierarchy of the controller; raw
  std::uint64_t cgroup_id = 0;  ///< there
  std::uint64_t quota_ns = 0;   ///< CPU time that it has in each period
  std::uint64_t period_ns = 0;
  bool of_real_time = false;  ///< what its real-time threads have; of "/": all of them
};

/// Where a thread was while it ran, by function and caller.
struct CpuPlace {
  std::uint64_t samples = 0;
  Stack stack{};  ///< of one of them: the kernel's functions, where it was in there, then its own
};

/// Samples are taken by the CPU's tick: a thread that ran for less may have none.
struct CpuPlaces {
  std::uint64_t samples = 0;
  std::vector<CpuPlace> places{};  ///< those with most samples first
};

/// A thread that had the CPU while another could have run.
struct CpuShare {
  ThreadName thread{};  ///< tid 0: the CPU idled
  std::uint64_t ns = 0;
  CpuPlaces on_cpu{};  ///< where it was then, in all waits of a span; empty: not known
};

/// All that had it, as far as that is known. An interrupt's time counts with the thread that it
/// interrupted.
struct CpuShares {
  std::vector<CpuShare> threads{};  ///< longest first
  std::uint64_t others_ns = 0;      ///< of threads that are not listed

  void add(const CpuShare& share);
  void add(const ThreadName& thread, std::uint64_t ns) { add(CpuShare{thread, ns, {}}); }
  void add(const CpuShares& more);
};

/// A signal that stopped a process, and who sent it.
struct StopSignal {
  std::string name{};                  ///< "SIGSTOP"
  std::optional<ThreadName> sender{};  ///< none: the kernel, as for a key of the terminal
};

/// A stretch of a span that its thread spent off the CPU.
struct Wait {
  std::uint64_t ns = 0;            ///< from switched out to switched in
  std::uint64_t runqueue_ns = 0;   ///< of it: woken, waiting for a CPU
  std::uint64_t throttled_ns = 0;  ///< of it: could run, but for a quota
  /// "sleeping", "uninterruptible", "preempted", "throttled", "unknown" (it could run, yet its CPU
  /// idled), "other"
  std::string_view state{};
  /// Why it was kept from running, where its functions say so: "stopped" by a signal, "traced",
  /// "frozen" with its cgroup; else empty
  std::string_view means{};
  Stack kernel_stack{};  ///< where it waited
  std::optional<Waker> waker{};
  std::optional<ThreadName> displacer{};  ///< preempted: who took the CPU
  CpuShares ran{};                        ///< who had the CPU while it could run
  std::optional<Throttle> throttle{};     ///< throttled: by whose quota
  std::optional<StopSignal> stop{};       ///< stopped: by what, where that is known

  bool could_run() const {
    return state == "preempted" || state == "throttled" || state == "unknown";
  }
  std::uint64_t blocked_ns() const {
    const std::uint64_t ready_ns = runqueue_ns + throttled_ns;
    return !could_run() && ns > ready_ns ? ns - ready_ns : 0;
  }
};

/// What a span's time went to; with `unknown_ns` the parts add up to its latency.
struct Breakdown {
  std::uint64_t oncpu_ns = 0;
  std::uint64_t runqueue_ns = 0;
  std::uint64_t preempted_ns = 0;
  std::uint64_t throttled_ns = 0;  ///< kept from running by the CPU quota of a cgroup
  std::uint64_t sleeping_ns = 0;
  std::uint64_t uninterruptible_ns = 0;
  std::uint64_t irq_ns = 0;
  std::uint64_t softirq_ns = 0;
  std::uint64_t unknown_ns = 0;

  std::uint64_t blocked_ns() const { return sleeping_ns + uninterruptible_ns; }
};

/// Where a thread waited, by state and kernel stack: equal waits together.
struct WaitPlace {
  std::string_view state{};  ///< as Wait has it
  std::uint64_t ns = 0;      ///< of them all, within the time that is looked at
  std::uint64_t count = 0;
  Stack kernel_stack{};
  std::uint64_t blocked_ns = 0;  ///< of `ns`: it could not run
  std::uint64_t longest_ns = 0;  ///< of the longest wait there
  std::size_t longest = 0;       ///< of a finding's own: which of its waits is the longest there
};

/// One step on the way from a wait to what it was waiting for.
struct ChainLink {
  ThreadName thread{};       ///< who the one before waited for; of an interrupt, nobody
  ThreadName interrupted{};  ///< of an interrupt: whom it met, by chance
  std::string_view means{};  ///< of an interrupt, as Waker has it
  std::string disk{};        ///< likewise
  /// "ran", or what it did longest in one place: "waited", "preempted", …; or the interrupt
  /// that ended it
  std::string what;
  std::uint64_t ns = 0;              ///< how long of the wait it explains; 0 of an interrupt
  std::uint64_t during_ns = 0;       ///< the part of the wait before, at whose end it is the waker
  std::optional<Breakdown> ledger;   ///< what the thread did in that time
  std::vector<WaitPlace> places;     ///< of its waits in that time, longest first
  std::uint64_t runqueue_ns = 0;     ///< of that: woken, waiting for a CPU
  CpuShares ran;                     ///< who had the CPU while it could run
  CpuPlaces on_cpu;                  ///< where it was while it ran
  std::optional<Throttle> throttle;  ///< by whose quota it was throttled
  bool is_thread = false;            ///< as Waker has it: `what` may be "unknown" of either
  Stack kernel_stack;                ///< where it waited, or was preempted
  Stack user_stack;                  ///< of a late call of its own, in which it waited
  Stack waking_stack;                ///< from where in its program it woke the one before
  bool is_root = false;
  bool is_cut = false;  ///< the chain goes on, and we do not
};

/// What the thread of a late span waited for, where that may be no delay at all.
struct WaitPurpose {
  std::string_view of{};  ///< "time" that it asked for, "work", "answer", "unknown"; empty: it did
                          ///< not wait, or in what is a delay always
  std::string by{};       ///< what says so: a function of the program, "its request", …
  std::uint64_t meant_ns = 0;  ///< of the latency: what is no delay
};

/// A handler of the program's, which ran for a signal.
struct SignalHandler {
  std::string signal{};  ///< "SIGUSR1"
  std::uint64_t ns = 0;  ///< from its begin to its return
};

/// Findings of one cause that were not shown, since others of it were.
struct Repeats {
  std::uint64_t number = 0;  ///< of the first finding of that cause
  std::string name;          ///< of the operation
  std::uint64_t count = 0;
  std::uint64_t latency_ns = 0;  ///< of them all
  std::uint64_t longest_ns = 0;
};

/// One late operation, explained.
struct Finding {
  std::string_view type = "stall";     ///< or "hang": it is still open
  std::uint64_t number = 0;            ///< 1, 2, … of this session
  std::string_view span;               ///< kind: "syscall", "offcpu", …
  std::string name;                    ///< of the operation: "openat", "virtio1-req.0", "vda"
  std::vector<std::string> arguments;  ///< ready to read
  std::string title;                   ///< of a span that is no system call, in a few words
  KernelTime time{};                   ///< its end; of a hang: now
  ThreadName thread;                   ///< whose it is; of an interrupt: who was interrupted
  bool is_bystander = false;           ///< that thread, for it was in the way only
  std::optional<ThreadName> ended_by;  ///< another, in whose context it ended
  std::uint32_t cpu = 0;
  std::uint64_t cgroup_id = 0;
  std::uint64_t latency_ns = 0;
  std::uint64_t threshold_ns = 0;  ///< that it passed; 0: not known
  std::optional<std::int64_t> result;
  std::string error;           ///< name of the errno value that the result is
  std::uint64_t given_ns = 0;  ///< the time in memory that its call was given; 0: none, not known
  std::optional<Breakdown> breakdown;
  CpuPlaces on_cpu;                 ///< where its thread was while it ran
  std::vector<Wait> waits;          ///< in time order; short ones may be missing
  std::vector<WaitPlace> places;    ///< of all waits; where it was blocked longest first
  bool waits_forgotten = false;     ///< there were more, which were not kept
  Stack kernel_stack;               ///< at its end, of a hang now; spans without waits have it
  std::optional<Stack> user_stack;  ///< nothing: was not asked for, or could not be had
  std::string user_stack_end;       ///< why it goes no further; empty: it is complete
  std::vector<ChainLink> chain;     ///< of longest_wait()
  WaitPurpose purpose;
  std::string cause;         ///< equal for equal causes, across boots and builds
  std::string_view state;    ///< of a call that hangs: what its thread does now, as Wait::state
                             ///< says it, or "running" or "runqueue"; else empty
  bool is_way_back = false;  ///< a call that was late after its end, on the way to its program
  std::optional<SignalHandler> handler;  ///< that its thread ran on that way
  bool is_older = false;                 ///< a hang from before the session: latency_ns is at least
  std::uint64_t hang = 0;  ///< of a stall: the finding it was while it was open; 0: none
  std::uint64_t like = 0;  ///< the first finding of the same cause; 0: it is this one

  /// The longest where it was blocked longest; null: it did not wait.
  const Wait* longest_wait() const {
    return places.empty() ? nullptr : &waits[places.front().longest];
  }
  std::uint64_t late_ns() const {
    return latency_ns > purpose.meant_ns ? latency_ns - purpose.meant_ns : 0;
  }
};

/// Adds the frames of a finding's own stacks; those of its wakers' calls are of other findings.
void count_frames(const Finding& finding, FrameCounts& counts);

}  // namespace overdue
