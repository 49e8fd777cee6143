#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bpf/control.h"
#include "kernel/membership_wire.h"
#include "kernel/ring_set.h"

struct bpf_object;

namespace overdue {

/// Who belongs to the target, as the kernel side decides it.
struct MembershipRules {
  bool all = false;
  bool follow_children = true;
  /// Children of this process and their children fit no rule but pids, tids and gated_pids.
  bool leave_children_out = false;
  std::vector<std::uint32_t> pids;        ///< processes with all their threads
  std::vector<std::uint32_t> tids;        ///< single threads
  std::vector<std::uint32_t> gated_pids;  ///< our own children, blocked behind the spawn gate
  std::vector<std::string> name_globs;    ///< at most 8; see compile_glob()
  std::vector<std::uint64_t> cgroup_ids;  ///< with everything below them; at most 16
  int cgroup_hierarchy = -1;  ///< of cgroup_ids and of records' cgroup_id: 0 is v2; -1: none
};

/// File descriptors of the maps every BPF object of a session shares; borrowed from Membership.
struct SharedMaps {
  int control = -1;
  int rings = -1;
  int threads = -1;
  int threads_hashed = -1;  ///< see bpf/thread_storage.bpf.h
  int ledger_seats = -1;    ///< of a session that explains latencies; filled by its SchedProbe
  int ledgers = -1;         ///< of threads without a seat
  int ledgers_hashed = -1;
  int cpu_ledgers = -1;
  int place_tables = -1;
};

/// Makes control words, rings and the state of threads of an object, not loaded yet, those that
/// all share; and gives its own tables of threads the size they need here.
void share_maps(bpf_object* object, const SharedMaps& shared);

/// How many entries a hash table of threads needs here: with PREEMPT_RT it stands for task storage.
std::uint32_t hashed_threads();

/// Per-CPU counters of one BPF object, summed, and what the kernel itself counts of its programs.
using Counters = std::map<session_counter, std::uint64_t>;
Counters read_counters(const bpf_object* object);
/// What of it is each object's own though objects share the counters: of its programs' runs.
void add_program_counters(Counters& counters, const bpf_object* object);
/// Zeroes them; only while no program runs that would count.
void clear_counters(int counters_map_fd);

/// What the target's threads have used of the CPUs.
struct CpuUse {
  std::uint64_t time_ns = 0;
  std::uint64_t departures = 0;  ///< how often one of them has left its CPU, willingly or not
};

/// The BPF object that decides who is measured, and owner of what a session's objects share:
/// control words, rings and per-thread state. Loaded by the constructor, attached by the first
/// adopt_existing(); detached when destroyed.
class Membership {
 public:
  /// `ring_bytes` per CPU; 0 makes no rings. Throws Error where rules do not fit or the kernel
  /// refuses.
  Membership(const MembershipRules& rules, std::size_t ring_bytes);
  ~Membership();

  SharedMaps maps() const;
  /// Shared with running programs: access single words.
  session_control& control() const;
  RingSet* rings() const { return rings_.get(); }

  /// Makes members of all existing threads that match and, from the first call on, of those that
  /// come to match. May be called again: members stay members.
  void adopt_existing();
  /// Where a process of several threads was moved to another cgroup since the last call: makes
  /// members of those threads that belong to the target by it, and notes where the others are now.
  /// The kernel tells of a process's first thread only, so this is to be called now and then.
  void follow_moves();
  /// Takes the hooks away that make members: no thread becomes one any more.
  void detach();
  /// For calibration: makes the calling thread, which must be its process's first, a member, or no
  /// longer one.
  void adopt_self();
  void release_self();

  /// The target's threads that have not been freed: those that have ended stay until they are
  /// waited for.
  std::vector<member> members() const;
  /// Of the target since adoption, ended threads included. The time is a lower bound: up to a tick
  /// of each thread that runs, or has ended within the last milliseconds, is not accounted yet.
  CpuUse cpu_use() const;
  Counters counters() const;
  /// Forgets what calibration counted.
  void reset_counters();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<RingSet> rings_;
};

/// Runs a BPF iterator program once; returns what it wrote.
std::string run_iterator(int program_fd, const char* what);

/// CPUs the kernel may ever bring online.
std::uint32_t possible_cpu_count();

/// Returns when no BPF program that was running at the call is still running. Milliseconds.
void wait_for_running_programs();

}  // namespace overdue
