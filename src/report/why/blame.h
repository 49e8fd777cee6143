#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/why/activities.h"
#include "report/why/cause.h"
#include "report/why/open_waits.h"
#include "report/why/other_ends.h"
#include "report/why/root.h"
#include "report/why/runnable.h"
#include "report/why/sampling.h"

namespace overdue {

/// Adds late time up by its root: waiters in a row behind one thread are one cause. The time in
/// which a thread could run is no part of it. Memory is bounded; used by one thread.
class BlameTable {
 public:
  struct Rules {
    /// Waits off the CPU within system calls count: the calls have no findings of their own.
    bool waits_in_calls = false;
    bool connects = false;   ///< TCP connects count: they have no spans of their own
    bool by_thread = false;  ///< causes have the late time of each thread
    /// The most that one operation adds to a sum, ns: the length of an interval; 0: no limit.
    std::uint64_t most_ns = 0;
  };
  BlameTable() = default;
  explicit BlameTable(const Rules& rules) : rules_(rules) {}

  /// Takes a late operation of a class, or one that is still open.
  void add(const Finding& finding, const WhySampling::Class& of);
  /// Takes an operation that is no delay: it may have waited for a CPU all the same.
  void add_left_out(const Finding& finding, const WhySampling::Class& of);
  /// A call of the thread has ended, and its record is not examined.
  void end_call(std::uint32_t tid);
  /// An empty table for the next interval, with the operations that are still open.
  BlameTable next() const;
  /// The session is over. `open_ns`: the age of the present wait of each thread, by tid. What is
  /// open and still waits has lasted until `end`.
  void finish(KernelTime end, const std::map<std::uint32_t, std::uint64_t>& open_ns);

  /// Blocked time by root, longest in total first.
  struct Blocked {
    std::vector<WhyCause> causes;
    std::map<std::string, std::uint64_t> ran_ns;  ///< CPU time of roots in the causes, by name
    std::uint64_t disk_ns = 0, fault_ns = 0;      ///< waits for disks, in calls and in page faults
    std::uint64_t stopped_ns = 0;                 ///< stopped, traced or frozen
  };
  /// With the weights of `sampling`.
  Blocked blocked(const WhySampling& sampling, bool of_interval = false) const;

  const RunnableTime& runqueue() const { return runqueue_; }
  const RunnableTime& throttled() const { return throttled_; }
  /// Processes that wait for the lock of a file at present.
  std::set<std::uint32_t> lock_waiters() const;
  /// Processes whose longest operation of a cause was late in this work of the kernel, by its name.
  std::set<std::uint32_t> processes_with(std::string_view work) const;
  /// Waits that have not ended, and whose other side can be found.
  std::vector<OpenWait> open_waits() const;
  /// What the longest and the open operations wait for.
  std::set<AwaitedEnd> awaited_ends() const;
  /// Longest late operation of any kind; 0: none.
  std::uint64_t longest_ns() const { return longest_ns_; }
  /// Longest time blocked in an operation that waits for a lock; 0: none.
  std::uint64_t longest_lock_ns() const { return longest_lock_ns_; }
  /// Time of causes that are not kept apart, for lack of room.
  std::uint64_t merged_ns() const { return merged_ns_; }
  /// With Rules::by_thread: time of causes whose threads were too many to keep apart.
  std::uint64_t unassigned_ns() const { return unassigned_ns_; }

 private:
  /// Time of threads with one name, of operations of one class.
  struct Who {
    ThreadName first;  ///< the first of these threads
    bool are_several = false;
    std::uint64_t count = 0, ns = 0;
    std::set<std::uint32_t> tids;  ///< at most tids_max

    void add(const ThreadName& thread, std::uint64_t late_ns);
    void add(const Who& more, double weight);
  };
  /// The late operations of one class.
  struct Late {
    Who who;
    std::map<std::string, Who> by;
    std::map<std::string, std::uint64_t> ran_ns;
    std::map<std::uint32_t, std::uint64_t> threads;  ///< late time by tid
    std::uint64_t disk_ns = 0, fault_ns = 0, stopped_ns = 0;
  };
  struct Row {
    WhyCause cause;
    Root root;  ///< of the longest operation
    std::map<WhySampling::Class, Late> late;
    std::uint64_t ns = 0, explained_ns = 0;  ///< of the examined operations
    bool has_answers = false;                ///< some wait for answers
    Activities activities;                   ///< of the holders of a lock that the process has once
  };
  static std::vector<WhyName> names_of(const std::map<std::string, Who>& by_name);
  static std::string text_of(const Row& row, const WhyCause& cause,
                             const std::map<std::string, Who>& by);
  void blame(const Finding& finding, const WhySampling::Class& of, std::string_view kind,
             std::uint64_t lasted_ns);
  void add_waits_for_cpu(const Finding& finding, const WhySampling::Class& of);

  void end_older_call(const Finding& call);
  bool is_counted_elsewhere(const Finding& finding) const;
  void add_thread(Late& late, std::uint32_t tid, std::uint64_t ns);

  Rules rules_;
  std::map<std::string, Row> rows_;
  std::map<std::uint64_t, Finding> open_;  ///< by number
  std::set<std::uint64_t> ended_;          ///< those of `open_` that have ended, at an unknown time
  RunnableTime runqueue_{RunnableTime::runners}, throttled_{RunnableTime::throttles};
  std::uint64_t longest_ns_ = 0, longest_lock_ns_ = 0, merged_ns_ = 0, unassigned_ns_ = 0;
  std::size_t threads_ = 0;  ///< entries of Late::threads
};

}  // namespace overdue
