#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/breakdown.h"
#include "core/session_info.h"
#include "core/stack.h"

namespace overdue {

/// The functions of a kernel stack that show the purpose of a wait, outermost first: without those
/// of the kernel's entry, the scheduler and the tracing, and without suffixes that compilers append
/// to names.
std::vector<std::string> telling_functions(const Stack& kernel_stack);
/// Drops the innermost frames, those of the scheduler.
void drop_scheduler(Stack& kernel_stack);

struct ThreadName {
  std::uint32_t pid = 0;  ///< 0: not known
  std::uint32_t tid = 0;  ///< 0: the idle thread
  std::string comm;       ///< raw; empty if unknown
};

/// The thread or interrupt whose wake-up ended a wait.
struct Waker {
  ThreadName thread{};       ///< the waker; unset for an interrupt
  ThreadName interrupted{};  ///< thread that the interrupt happened to interrupt
  std::string context{};  ///< "thread", "softirq NET_RX", "irq virtio1-req.0", "vector local_timer"
  std::string_view means{};  ///< meaning of an interrupt: "timeout", "disk completion"; or empty
  std::string disk{};        ///< disk of a disk completion: "vda"; empty: not known
  bool is_thread = false;    ///< true also for a softirq in a system call of `thread`
  Stack stack{};
};

/// A cgroup whose CPU quota, or real-time limit, was used up.
struct Throttle {
  std::string cgroup{};         ///< path in the hierarchy of the controller; raw
  std::uint64_t cgroup_id = 0;  ///< id in that hierarchy
  std::uint64_t quota_ns = 0;   ///< CPU time per period
  std::uint64_t period_ns = 0;
  bool of_real_time = false;  ///< limit of its real-time threads; of "/": of all real-time threads
};

/// A place in which a thread ran, by function and caller.
struct CpuPlace {
  std::uint64_t samples = 0;
  Stack stack{};  ///< stack of one sample: kernel functions, if any, then user functions
};

/// The CPU's tick takes samples: a thread that ran for less than a tick may have none.
struct CpuPlaces {
  std::uint64_t samples = 0;
  std::vector<CpuPlace> places{};  ///< most samples first
};

/// The run time of a thread while another thread was runnable.
struct CpuShare {
  ThreadName thread{};  ///< tid 0: the CPU idled
  std::uint64_t ns = 0;
  CpuPlaces on_cpu{};  ///< where the thread ran during all waits of a span; empty: not known
};

/// All known threads that ran while another thread was runnable. The time of an interrupt counts
/// for the interrupted thread.
struct CpuShares {
  std::vector<CpuShare> threads{};  ///< longest first
  std::uint64_t others_ns = 0;      ///< run time of threads that are not listed

  void add(const CpuShare& share);
  void add(const ThreadName& thread, std::uint64_t ns) { add(CpuShare{thread, ns, {}}); }
  void add(const CpuShares& more);
};

/// A signal that stopped a process, and its sender.
struct StopSignal {
  std::string name{};                  ///< "SIGSTOP"
  std::optional<ThreadName> sender{};  ///< none: the kernel, as for a key of the terminal
};

/// A part of a span in which its thread was off the CPU.
struct Wait {
  std::uint64_t ns = 0;            ///< from switched out to switched in
  std::uint64_t runqueue_ns = 0;   ///< part of `ns`: woken, waiting for a CPU
  std::uint64_t throttled_ns = 0;  ///< part of `ns`: runnable, but throttled
  /// "sleeping", "uninterruptible", "preempted", "throttled", "unknown" (runnable, yet the CPU
  /// idled), "other"
  std::string_view state{};
  /// Reason of the wait, if its functions show it: "stopped" by a signal, "traced", "frozen" with
  /// the cgroup; else empty
  std::string_view means{};
  Stack kernel_stack{};  ///< stack of the wait
  std::optional<Waker> waker{};
  std::optional<ThreadName> preempted_by{};  ///< "preempted": the preempting thread
  CpuShares ran{};                           ///< threads that ran while this one was runnable
  std::optional<Throttle> throttle{};        ///< "throttled": the limit
  std::optional<StopSignal> stop{};          ///< "stopped": the signal, if known
  std::optional<ThreadName> tracer{};        ///< "traced": the tracer, if known

  bool could_run() const {
    return state == "preempted" || state == "throttled" || state == "unknown";
  }
  std::uint64_t blocked_ns() const {
    const std::uint64_t ready_ns = runqueue_ns + throttled_ns;
    return !could_run() && ns > ready_ns ? ns - ready_ns : 0;
  }
};

/// Waits of a thread with the same state and kernel stack.
struct WaitPlace {
  std::string_view state{};  ///< as Wait::state
  std::uint64_t ns = 0;      ///< sum of the waits, within the examined time
  std::uint64_t count = 0;
  Stack kernel_stack{};
  std::uint64_t blocked_ns = 0;  ///< part of `ns`: not runnable
  std::uint64_t longest_ns = 0;  ///< longest wait in this place
  std::size_t longest = 0;       ///< index of the longest wait in Finding::waits
  CpuShares ran{};               ///< of a chain link: threads that ran while this one was runnable
};

/// One link of the chain of wakers from a wait to its cause.
struct ChainLink {
  ThreadName thread{};       ///< waker of the link before; unset for an interrupt
  ThreadName interrupted{};  ///< thread that the interrupt happened to interrupt
  std::string_view means{};  ///< meaning of an interrupt, as Waker::means
  std::string disk{};        ///< as Waker::disk
  /// "ran", or the longest state of the thread in one place: "waited", "preempted", …; or the
  /// interrupt that ended the wait
  std::string what;
  std::uint64_t ns = 0;              ///< part of the wait that the link explains; 0: an interrupt
  std::uint64_t during_ns = 0;       ///< part of the wait before, ended by this waker
  std::optional<Breakdown> ledger;   ///< parts of the thread's time in during_ns
  std::vector<WaitPlace> places;     ///< the thread's waits in during_ns, longest first
  std::uint64_t runqueue_ns = 0;     ///< part of `ns`: woken, waiting for a CPU
  CpuShares ran;                     ///< threads that ran while this one was runnable
  CpuPlaces on_cpu;                  ///< where the thread ran
  std::optional<Throttle> throttle;  ///< limit that throttled the thread
  bool is_thread = false;            ///< as Waker::is_thread; `what` may be "unknown" for both
  Stack kernel_stack;                ///< stack of its wait or preemption
  Stack user_stack;                  ///< user stack of a late call of the thread with the wait
  Stack waking_stack;                ///< user stack of the wake-up of the link before
  bool is_root = false;
  bool is_cut = false;  ///< true: the chain is longer, but not followed further
};

/// The purpose of a wait in a late span: a wait may be no delay.
struct WaitPurpose {
  std::string_view of{};  ///< "time" that was asked for, "work", "answer", "unknown"; empty: no
                          ///< wait, or a wait that is always a delay
  std::string by{};       ///< basis of the decision: a function of the program, "its request", …
  std::uint64_t meant_ns = 0;  ///< part of the latency that is no delay
};

/// A signal handler of the program.
struct SignalHandler {
  std::string signal{};  ///< "SIGUSR1"
  std::uint64_t ns = 0;  ///< from its begin to its return
};

/// The object behind the descriptor that a call was given.
struct CallObject {
  std::string_view kind{};  ///< "file", "pipe", "socket" of the internet, "unix" socket, "other"
  /// Raw: path of a file or named pipe, "tcp 127.0.0.1:4711->127.0.0.1:80", "unix /run/x", "pipe
  /// 81"
  std::string text{};
  std::string local{};   ///< "127.0.0.1:4711" of a "socket"; else empty
  std::string remote{};  ///< "127.0.0.1:80" of a connected "socket"; else empty
  /// "client": the socket's thread asked for the connection; "server": it was asked; "listener":
  /// it accepts connections; empty: no socket, or not known
  std::string_view side{};
  std::optional<std::uint64_t> written_ns{};   ///< time from the last data sent to the call's end
  std::optional<std::uint64_t> received_ns{};  ///< the same from the last data received
  /// How often the last data was sent again, because the peer's kernel did not acknowledge it.
  std::uint32_t resends = 0;
  std::uint64_t resent_ns = 0;  ///< from the first time that it was sent to the last time

  /// Whether most of a wait of `ns` is the time in which TCP had no acknowledgement.
  bool was_resent_in(std::uint64_t ns) const { return resends > 0 && 2 * resent_ns >= ns; }
};

/// Findings that are not shown, since others with the same cause are.
struct Repeats {
  std::uint64_t number = 0;  ///< number of the first finding with the cause
  std::string name;          ///< name of the operation
  std::uint64_t count = 0;
  std::uint64_t latency_ns = 0;  ///< sum of the latencies
  std::uint64_t longest_ns = 0;
};

/// One late operation, explained.
struct Finding {
  std::string_view type = "stall";     ///< or "hang": still open
  std::uint64_t number = 0;            ///< 1, 2, … of this session
  std::string_view span;               ///< kind: "syscall", "offcpu", …
  std::string name;                    ///< operation: "openat", "virtio1-req.0", "vda"
  std::vector<std::string> arguments;  ///< printable
  std::optional<CallObject> object;    ///< behind the call's descriptor; none: not known
  std::string title;                   ///< short description of a span that is no system call
  KernelTime time{};                   ///< end of the span; for a hang, the present time
  ThreadName thread;                   ///< thread of the span; interrupted thread of an interrupt
  bool is_bystander = false;           ///< true: an interrupt only happened to meet `thread`
  std::optional<ThreadName> ended_by;  ///< another thread, in whose context the span ended
  std::uint32_t cpu = 0;
  std::uint64_t cgroup_id = 0;
  std::uint64_t latency_ns = 0;
  std::uint64_t threshold_ns = 0;  ///< threshold that the span passed; 0: not known
  std::optional<std::int64_t> result;
  std::string error;           ///< name of the errno value in `result`
  std::uint64_t given_ns = 0;  ///< timespec argument of the call; 0: none, or not known
  std::optional<Breakdown> breakdown;
  CpuPlaces on_cpu;                 ///< where the thread ran
  std::vector<Wait> waits;          ///< in time order; short waits may be missing
  std::vector<WaitPlace> places;    ///< of all waits; longest blocked first
  bool waits_forgotten = false;     ///< true: older waits were dropped
  Stack kernel_stack;               ///< at the end of a span without waits; of a hang, at present
  std::optional<Stack> user_stack;  ///< empty: not asked for, or not available
  std::string user_stack_end;       ///< why user_stack ends early; empty: complete
  std::vector<ChainLink> chain;     ///< chain of wakers of longest_wait()
  WaitPurpose purpose;
  std::string cause;         ///< equal for equal causes, across boots and builds
  std::string_view state;    ///< hang: present state of the thread, as Wait::means or Wait::state,
                             ///< or "running" or "runqueue"; else empty
  bool is_way_back = false;  ///< true: the call was late after its end, on the way to its program
  std::optional<SignalHandler> handler;  ///< handler that ran on the way to the program
  bool is_older = false;                 ///< hang from before the session: a lower bound
  std::uint64_t hang = 0;  ///< stall: number of its finding while it was open; 0: none
  std::uint64_t like = 0;  ///< number of the first finding with the same cause; 0: this one

  /// The longest wait in the place with the longest blocked time; null if there are no waits.
  const Wait* longest_wait() const {
    return places.empty() ? nullptr : &waits[places.front().longest];
  }
  std::uint64_t late_ns() const {
    return latency_ns > purpose.meant_ns ? latency_ns - purpose.meant_ns : 0;
  }
};

/// Adds the frames of a finding's own stacks. ChainLink::user_stack belongs to other findings.
void count_frames(const Finding& finding, FrameCounts& counts);

}  // namespace overdue
