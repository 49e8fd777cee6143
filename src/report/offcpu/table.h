#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/offcpu.h"
#include "core/full_names.h"
#include "core/record.h"
#include "core/whose.h"

namespace overdue {

/// How much a sum has grown; 0 where damage made it smaller.
constexpr std::uint64_t growth(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

/// The waits that began when one thread took the CPU from another, or those of woken threads behind
/// one that had the CPU.
struct Displacer {
  std::uint32_t tid = 0;  ///< 0: threads of this name that were too many to keep apart
  std::string comm;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;  ///< until the displaced thread had a CPU again, or while it ran
  std::uint64_t max_ns = 0;

  /// Time in which this thread may have had the CPU itself: a thread of the same class that goes on
  /// for longer than some slices of the scheduler is followed by others. The rest is unknown.
  std::uint64_t ran_at_most_ns() const {
    constexpr std::uint64_t slices_ns = 10'000'000;
    return total_ns / slices_ns > count ? count * slices_ns : total_ns;
  }
  /// Whether the CPU had no thread: only in OffcpuRow::behind.
  bool is_idle_cpu() const { return tid == 0 && comm == "(idle)"; }
  void add(const Displacer& other);
};

/// Where the threads of a row were.
struct OffcpuRow : Owner {
  std::uint64_t threads = 0;
  std::uint64_t processes = 0;  ///< those whose first thread is among the threads
  std::uint64_t wall_ns = 0;    ///< time in which the threads were measured, summed
  std::uint64_t oncpu_ns = 0;   ///< interrupts included
  std::uint64_t sleeping_ns = 0, uninterruptible_ns = 0;
  std::uint64_t runqueue_ns = 0, preempted_ns = 0, throttled_ns = 0;
  /// Parts of the blocked time by enum wait_reason, as far as they are known.
  std::array<std::uint64_t, WAIT_REASONS> reason_ns{};
  std::uint64_t switches = 0;  ///< waits that have ended
  std::uint64_t preemptions = 0;
  std::uint64_t max_ns = 0;                ///< longest wait that has ended
  std::uint64_t open_ns = 0;               ///< longest wait in progress
  std::vector<Displacer> displacers = {};  ///< longest in total first
  /// Who had the CPU while woken threads waited, likewise; the times are estimates.
  std::vector<Displacer> behind = {};

  std::uint64_t blocked_ns() const { return sleeping_ns + uninterruptible_ns; }
  std::uint64_t runnable_ns() const { return runqueue_ns + preempted_ns + throttled_ns; }
  std::uint64_t offcpu_ns() const { return blocked_ns() + runnable_ns(); }
  /// Time off the CPU without sleep, which may be wanted.
  std::uint64_t waiting_ns() const { return uninterruptible_ns + runnable_ns(); }
  /// Whether all threads of the row slept throughout.
  bool is_asleep() const { return switches == 0 && oncpu_ns == 0 && waiting_ns() == 0; }
  /// Time that no hook saw. With --cpu, time on other CPUs.
  std::uint64_t unknown_ns() const;
  /// The longest wait, which may be in progress.
  std::uint64_t longest_ns() const { return max_ns > open_ns ? max_ns : open_ns; }
  void add(const OffcpuRow& other);
  /// Adds the growth of each sum from `before` to `now`. A wait in progress may turn out to have
  /// been less of one part and more of another: then less, which the other part makes up for.
  void add_growth(const OffcpuRow& now, const OffcpuRow& before);
  void set_sums(const OffcpuRow& now);
};

/// Leaves each row what it shows by this word, and finds the paths of cgroups and the full names of
/// kernel threads.
void complete_rows(std::vector<OffcpuRow>& rows, Whose by, const Names& names, QueueOfWork queue);
/// Gives rows by thread or process, and all displacers, the full names of kernel threads.
void give_full_names(std::vector<OffcpuRow>& rows, const Names& names, QueueOfWork queue);

/// Adds records up, by thread. Ended threads that are too many to keep apart are added up by name,
/// cgroup and parent. One thread.
class OffcpuTable {
 public:
  void add(const Record& record);
  /// All rows since the start, or since the last call of end_interval(); unsorted, and without rows
  /// that have no time.
  std::vector<OffcpuRow> rows(Whose by) const { return merged(by, &Thread::total); }
  std::vector<OffcpuRow> interval_rows(Whose by) const { return merged(by, &Thread::interval); }
  void end_interval();
  /// The number of threads whose rows were added up by name.
  std::uint64_t merged_threads() const { return merged_threads_; }

 private:
  using Displacers = std::map<std::pair<std::uint32_t, std::string>, Displacer>;
  struct Sums {
    OffcpuRow row;
    Displacers displacers, behind;
    void add(const Sums& other);
  };
  struct Thread {
    offcpu_thread last{};  ///< its last record
    bool has_ended = false;
    Sums total, interval;
  };
  using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< number and 0; of number 0: 0 and tid

  Thread& thread_of(std::uint32_t number, std::uint32_t tid);
  void add_thread(const offcpu_thread& record);
  void add_displacer(const offcpu_displacer& record);
  void merge_ended();
  std::vector<OffcpuRow> merged(Whose by, Sums Thread::* of) const;

  std::map<Key, Thread> threads_;
  std::map<Owner, Thread> ended_;
  std::uint64_t merged_threads_ = 0;
};

}  // namespace overdue
