#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bpf/control.h"
#include "bpf/python.h"
#include "kernel/membership_wire.h"
#include "kernel/ring_set.h"

struct bpf_object;

namespace overdue {

/// The rules by which BPF programs decide which threads belong to the target.
struct MembershipRules {
  bool all = false;
  bool follow_children = true;
  bool adopt_children = false;  ///< children of `pids` that run already belong to the target too
  /// Children of this process and their children match only pids, tids and gated_pids.
  bool leave_children_out = false;
  std::vector<std::uint32_t> pids;        ///< processes with all their threads
  std::vector<std::uint32_t> tids;        ///< single threads
  std::vector<std::uint32_t> gated_pids;  ///< our own children, blocked behind the spawn gate
  std::vector<std::string> name_globs;    ///< at most 8; see compile_glob()
  std::vector<std::uint64_t> cgroup_ids;  ///< with all cgroups below them; at most 16
  int cgroup_hierarchy = -1;  ///< of cgroup_ids and of records' cgroup_id: 0 is v2; -1: none
};

/// File descriptors of the maps that all BPF objects of a session share; owned by Membership.
struct SharedMaps {
  int control = -1;
  int rings = -1;
  int threads = -1;
  int threads_hashed = -1;  ///< see bpf/thread_storage.bpf.h
  int python_runtimes = -1;
  int ledger_slots = -1;  ///< in a session that explains latencies; set by its SchedProbe
  int ledgers = -1;       ///< of threads without a slot in ledger_slots
  int ledgers_hashed = -1;
  int cpu_ledgers = -1;
  int place_tables = -1;
  int throttled_queues = -1;  ///< see bpf/throttled_queues.bpf.h
  int latencies = -1;         ///< in a session with percentiles, see kernel/latency_counts.h
  u32 counted_kinds = 0;      ///< set of enum span_kind whose latencies are counted there
  u32 latency_stripes = 1;    ///< a power of two
  int span_sums = -1;         ///< in a session without a record for each span, see span_sums.h
  u32 summed_kinds = 0;       ///< set of enum span_kind whose spans are summed up there
  bool sums_by_thread = false;
};

/// Makes programs with bpf/latencies.bpf.h count the latencies of `shared.counted_kinds`.
template <typename ReadOnlyData>
void count_latencies(ReadOnlyData& rodata, const SharedMaps& shared) {
  rodata.counted_kinds = shared.counted_kinds;
  rodata.latency_stripe_mask = shared.latency_stripes - 1;
}

/// Replaces the control words, rings, thread states and counted latencies of `object`, which is not
/// loaded yet, by the shared ones, and sets the size of its own tables of threads.
void share_maps(bpf_object* object, const SharedMaps& shared);

/// Replaces the ledgers of threads and CPUs of `object`, which is not loaded yet, by those of a
/// session that keeps them. Without them, the object has none.
void share_ledgers(bpf_object* object, const SharedMaps& shared);

/// The number of entries of a hash table of threads: 16,384 with PREEMPT_RT, where it replaces task
/// storage; else 1.
std::uint32_t hashed_threads();

/// Per-CPU counters of one BPF object, summed, and the kernel's own counters of its programs.
using Counters = std::map<session_counter, std::uint64_t>;
Counters read_counters(const bpf_object* object);
/// Adds the counters of the runs of `object`'s programs, which objects never share.
void add_program_counters(Counters& counters, const bpf_object* object);
/// Zeroes the counters; call only while no program that counts runs.
void clear_counters(int counters_map_fd);

/// CPU use of the target's threads.
struct CpuUse {
  std::uint64_t time_ns = 0;
  std::uint64_t departures = 0;  ///< number of context switches, voluntary and involuntary
};

/// The BPF object that decides which threads are measured. Owns the maps that the objects of a
/// session share: control words, rings and per-thread state. Loaded by the constructor, attached by
/// the first adopt_existing(), detached by the destructor.
class Membership {
 public:
  /// `ring_bytes` per CPU; 0 makes no rings. Throws Error if there are too many rules, or the
  /// kernel refuses.
  Membership(const MembershipRules& rules, std::size_t ring_bytes);
  ~Membership();

  SharedMaps maps() const;
  /// Makes programs follow the interpreter's frames in stacks of `program`.
  void add_python(const python_program& program, const python_runtime& runtime);
  /// As in the rules.
  int cgroup_hierarchy() const { return cgroup_hierarchy_; }
  /// Shared with running programs: access single words.
  session_control& control() const;
  RingSet* rings() const { return rings_.get(); }

  /// Makes all existing threads that match members and, from the first call on, later threads that
  /// come to match. May be called again: members stay members.
  void adopt_existing();
  /// If a process was moved to another cgroup since the last call: adopts its threads that the move
  /// puts into the target, releases those that have left it, and updates the cgroups of all others.
  /// The kernel reports only the main thread of a process, so call this periodically.
  void follow_moves();
  /// Removes the hooks that make members: no thread becomes a member any more.
  void detach();
  /// For calibration: makes the calling thread, which must be the main thread, a member, and
  /// reverts that.
  void adopt_self();
  void release_self();

  /// The target's threads that have not been freed; includes zombies.
  std::vector<member> members() const;
  /// CPU use of the target since adoption, ended threads included. The time is a lower bound: up to
  /// a tick of each thread that runs, or ended within the last milliseconds, is not counted yet.
  CpuUse cpu_use() const;
  Counters counters() const;
  /// Clears the counts of the calibration.
  void reset_counters();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int cgroup_hierarchy_;
  std::unique_ptr<RingSet> rings_;
};

/// Runs a BPF iterator program once; returns its output.
std::string run_iterator(int program_fd, const char* what);
/// Takes whole records from the front of the output, and returns how many bytes it took.
using OutputReader = std::function<std::size_t(std::span<const std::byte>)>;
/// As above, for more output than should be in memory at once.
void run_iterator(int program_fd, const char* what, const OutputReader& reader);
/// The same; each record has `size` bytes.
void run_iterator(int program_fd, const char* what, std::size_t size,
                  const std::function<void(std::span<const std::byte>)>& record);

/// The number of CPUs that the kernel may ever bring online.
std::uint32_t possible_cpu_count();

/// Waits until all BPF programs that run at the call have ended. Takes milliseconds.
void wait_for_running_programs();

}  // namespace overdue
